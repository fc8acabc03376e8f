%% The BEAM's side of the wire benchmark. The same code talks to a BEAM and to
%% the node, and the same messages cross: a peer in Erlang keeps and gives
%% binaries as the node keeps and gives tensors.
%%
%%     erl … -s wire peer                serves
%%     erl … -s wire client PEER NODE    measures, a line for each number:
%%                                       WHAT, of the BEAM, of the node, UNIT
-module(wire).
-behaviour(gen_server).

-export([peer/0, client/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

%% The peer.

peer() ->
    {ok, _} = gen_server:start({local, nxvk_0}, ?MODULE, [], []),
    io:format("ready~n"),
    spawn(fun end_with_launcher/0).

%% end_with_launcher halts this BEAM when whoever started it is gone.
end_with_launcher() ->
    case io:get_line("") of
        eof -> halt(0);
        _ -> end_with_launcher()
    end.

init([]) -> {ok, #{}}.

handle_call({download, Id}, _, Values) -> {reply, {ok, maps:get(Id, Values)}, Values};
handle_call(info, _, Values) -> {reply, {ok, #{name => <<"BEAM">>}}, Values};
handle_call(sync, _, Values) -> {reply, ok, Values}.

handle_cast(Stream, Values) -> handle_info(Stream, Values).

handle_info({nxvk, Instructions}, Values) -> {noreply, lists:foldl(fun instruction/2, Values, Instructions)};
handle_info(_, Values) -> {noreply, Values}.

instruction({tensor, [{Id, _, _}], [{_, _, Data}], []}, Values) -> Values#{Id => Data};
instruction({free, [], [], [Ids]}, Values) -> maps:without(Ids, Values);
instruction(_, Values) -> Values.

%% The client.

-define(ROUNDS, 5).

client([Peer, Node]) ->
    spawn(fun end_with_launcher/0),
    Servers = [{nxvk_0, Peer}, {nxvk_0, Node}],
    [{ok, _} = gen_server:call(S, info) || S <- Servers],
    {ok, #{name := Name}} = gen_server:call({nxvk_0, Node}, info),
    io:format("device\t~s~n", [Name]),
    [compare(What, Unit, Count, Run, Servers) || {What, Unit, Count, Run} <- measurements()],
    io:format("instructions in batches of 10000\t-\t~.3f\tmillions a second~n", [instructions({nxvk_0, Node})]),
    halt(0).

%% measurements are what is measured, its unit, how often a round, and a
%% function that gives seconds.
measurements() ->
    [{"call, there and back", micros, 2000, fun call/1},
     {"cast, each of 100000", micros, 1, fun casts/1}] ++
    [{"upload " ++ Text, Bytes, Count, fun(S) -> upload(S, Bytes) end} || {Text, Bytes, Count} <- sizes()] ++
    [{"download " ++ Text, Bytes, Count, fun(S) -> download(S, Bytes) end} || {Text, Bytes, Count} <- sizes()].

sizes() -> [{"60 kB", 60000, 100}, {"1 MB", 1 bsl 20, 30}, {"16 MB", 16 bsl 20, 6}, {"64 MB", 64 bsl 20, 3}].

%% compare measures both servers in turn, after a round to warm up, and prints
%% the medians.
compare(What, Unit, Count, Run, Servers) ->
    round(Run, max(1, Count div 10), Servers),
    Rounds = [round(Run, Count, Servers) || _ <- lists:seq(1, ?ROUNDS)],
    [Beam, Ours] = [median(lists:append([lists:nth(I, R) || R <- Rounds])) || I <- [1, 2]],
    {Name, Scale} = case Unit of
        micros -> {"us", fun(T) -> T * 1.0e6 end};
        Bytes -> {"GB/s", fun(T) -> Bytes / T / 1.0e9 end}
    end,
    io:format("~s\t~.3f\t~.3f\t~s~n", [What, Scale(Beam), Scale(Ours), Name]).

round(Run, Count, Servers) ->
    [begin erlang:garbage_collect(), [Run(S) || _ <- lists:seq(1, Count)] end || S <- Servers].

median(L) -> lists:nth((length(L) + 1) div 2, lists:sort(L)).

seconds(F) ->
    Start = erlang:monotonic_time(nanosecond),
    F(),
    (erlang:monotonic_time(nanosecond) - Start) / 1.0e9.

call(S) -> seconds(fun() -> ok = gen_server:call(S, sync) end).

casts(S) ->
    Count = 100000,
    seconds(fun() ->
        [gen_server:cast(S, {nxvk, [{free, [], [], [[I]]}]}) || I <- lists:seq(1, Count)],
        ok = gen_server:call(S, sync, infinity)
    end) / Count.

%% upload is the time until the server says that it has the tensor.
upload(S, Bytes) ->
    Data = data(Bytes),
    Id = erlang:unique_integer([positive, monotonic]),
    T = seconds(fun() ->
        S ! {nxvk, [{tensor, [{Id, u8, {Bytes}}], [{u8, {Bytes}, Data}], []}]},
        ok = gen_server:call(S, sync, infinity)
    end),
    S ! {nxvk, [{free, [], [], [[Id]]}]},
    T.

%% download is the time until a tensor is here; it lies there from the first
%% time on.
download(S, Bytes) ->
    Id = case get({S, Bytes}) of
        undefined ->
            New = erlang:unique_integer([positive, monotonic]),
            S ! {nxvk, [{tensor, [{New, u8, {Bytes}}], [{u8, {Bytes}, data(Bytes)}], []}]},
            put({S, Bytes}, New),
            New;
        Known ->
            Known
    end,
    T = seconds(fun() -> {ok, <<7, _/binary>>} = gen_server:call(S, {download, Id}, infinity) end),
    erlang:garbage_collect(),
    T.

data(Bytes) ->
    case get({data, Bytes}) of
        undefined ->
            Data = binary:copy(<<7>>, Bytes),
            put({data, Bytes}, Data),
            Data;
        Data ->
            Data
    end.

%% instructions is how many million small additions a second a stream of
%% batches carries, of which two are under way at a time.
instructions(S) ->
    First = erlang:unique_integer([positive, monotonic]),
    S ! {nxvk, [{tensor, [{First, f32, {4}}], [{f32, {4}, <<0:128>>}], []}]},
    batches(S, First, 5),
    Count = 50,
    Count * 10000 / seconds(fun() -> batches(S, First, Count) end) / 1.0e6.

batches(S, X, Count) ->
    Pending = lists:foldl(fun(_, Pending) ->
        Ids = [erlang:unique_integer([positive, monotonic]) || _ <- lists:seq(1, 9999)],
        S ! {nxvk, [{add, [{Id, f32, {4}}], [X, {f32, <<0, 0, 128, 63>>}], []} || Id <- Ids] ++ [{free, [], [], [Ids]}]},
        await(2, [gen_server:send_request(S, sync) | Pending])
    end, [], lists:seq(1, Count)),
    await(0, Pending).

%% await leaves at most so many requests without an answer, the latest.
await(Most, Pending) when length(Pending) =< Most -> Pending;
await(Most, Pending) ->
    {reply, ok} = gen_server:receive_response(lists:last(Pending), infinity),
    await(Most, lists:droplast(Pending)).
