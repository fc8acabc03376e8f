%% Load, and clients that come to grief. Go drives these through nxvk_driver.
-module(nxvk_load).

-export([busy/2, idle/1, told/0, hold/3, killed_midway/1, many/2, stream/3, uploads/3, echo/2, work/2, arm/1, fired/0]).
-export([falls_to/2, buffers_of/2, gone/2, incarnation/1, at/3, reconnect/1, starve/2, hoard/2, fill/2, refused/1]).

-define(X, nxvk_client).

%% hold leaves a process behind that has Count tensors of Bytes bytes.
hold(D, Count, Bytes) ->
    Self = self(),
    spawn(fun() ->
        [?X:tensor(D, u8, {Bytes}, binary:copy(<<1>>, Bytes)) || _ <- lists:seq(1, Count)],
        ok = ?X:sync(D),
        Self ! {holding, self()},
        receive stop -> ok end
    end),
    receive {holding, _} -> ok end.

%% busy leaves a process behind that has something without an end under way,
%% waits for it, and remembers how that ended; told gives it.
busy(What, {Name, Node} = D) ->
    Self = self(),
    Pid = spawn(fun() ->
        case What of
            loop ->
                Id = nxvk_programs:begin_loop(D),
                Self ! busy,
                tell(catch gen_server:call(D, {download, Id}, infinity));
            chains ->
                Ref = monitor(process, D),
                nxvk_sampling:begin_chains(D),
                Self ! busy,
                tell(drawn(Name, Ref))
        end
    end),
    register(nxvk_busy, Pid),
    receive busy -> ok end,
    What =:= chains orelse changing(Node, 500),
    ok.

drawn(Name, Ref) ->
    receive
        {'DOWN', Ref, _, _, Reason} -> Reason;
        {nxvk_draws, Name, _, _, _, _, _, _} -> drawn(Name, Ref)
    end.

tell({'EXIT', {Reason, _Call}}) -> tell(Reason);
tell({nodedown, _}) -> tell(noconnection);
tell(End) -> receive {ask, From} -> From ! {told, End} end.

told() ->
    nxvk_busy ! {ask, self()},
    receive {told, End} -> End end.

%% changing waits until the node counts work, idle until it counts none. Draws
%% on the host are not counted; that they arrive is enough.
changing(_, 0) -> exit(nothing_goes_on);
changing(Node, Tries) -> still(Node) andalso changing(Node, Tries - 1), ok.

idle(Node) -> idle(Node, 100).

idle(_, 0) -> exit(busy_still);
idle(Node, Tries) -> still(Node) orelse idle(Node, Tries - 1), ok.

%% still tells whether nothing was counted for a moment.
still(Node) ->
    {ok, Before} = ?X:metrics(Node),
    receive after 20 -> ok end,
    {ok, After} = ?X:metrics(Node),
    Before =:= After.

%% killed_midway kills a process that has sent an instruction and is about to
%% send the next.
killed_midway({_, Node} = D) ->
    Self = self(),
    Pid = spawn(fun() ->
        X = ?X:tensor(D, f32, {1000}, binary:copy(<<0>>, 4000)),
        Self ! made,
        receive never -> ?X:op(D, exp, {f32, {1000}}, [X], []) end
    end),
    receive made -> ok end,
    exit(Pid, kill),
    gone(Node, fun(#{pid := P}) -> P =:= Pid end).

%% many runs Count processes that each make three tensors and exit, and waits
%% until nothing of theirs is left. It gives the milliseconds that took.
many({_, Node} = D, Count) ->
    {Micros, ok} = timer:tc(fun() ->
        Refs = [element(2, spawn_monitor(fun() -> three(D) end)) || _ <- lists:seq(1, Count)],
        [receive {'DOWN', Ref, _, _, normal} -> ok end || Ref <- Refs],
        gone(Node, node())
    end),
    Micros div 1000.

three(D) ->
    X = ?X:tensor(D, f32, {4}, [1.0, 2.0, 3.0, 4.0]),
    Y = ?X:op(D, add, {f32, {4}}, [X, X], []),
    ?X:op(D, multiply, {f32, {4}}, [Y, ?X:scalar(f32, 2.0)], []).

%% stream sends batches of Size small instructions and gives the microseconds
%% until all have been computed. It is at most two batches ahead of the node.
stream(D, Batches, Size) ->
    {Micros, ok} = timer:tc(fun() ->
        X = ?X:tensor(D, f32, {4}, [1.0, 2.0, 3.0, 4.0]),
        batches(D, X, Batches, Size, []),
        {ok, <<11.0:32/float-little, _/binary>>} = ?X:download(D, ?X:op(D, add, {f32, {4}}, [X, ?X:scalar(f32, 10.0)], [])),
        ok
    end),
    Micros.

batches(_, _, 0, _, Pending) ->
    [{reply, ok} = gen_server:receive_response(R, 600000) || R <- Pending],
    ok;
batches(D, X, Left, Size, Pending) ->
    Ids = [?X:id(D) || _ <- lists:seq(1, Size - 1)],
    Ten = ?X:scalar(f32, 10.0),
    ?X:stream(D, [{add, [{Id, f32, {4}}], [X, Ten], []} || Id <- Ids] ++ [{free, [], [], [Ids]}]),
    case [gen_server:send_request(D, sync) | Pending] of
        [A, B, Oldest] ->
            {reply, ok} = gen_server:receive_response(Oldest, 600000),
            batches(D, X, Left - 1, Size, [A, B]);
        Few ->
            batches(D, X, Left - 1, Size, Few)
    end.

%% uploads sends and frees Count tensors, one after the other.
uploads(D, Count, Bytes) ->
    Data = binary:copy(<<7>>, Bytes),
    {Micros, _} = timer:tc(fun() ->
        [begin
             Id = ?X:tensor(D, u8, {Bytes}, Data),
             ok = ?X:sync(D),
             ?X:free(D, [Id])
         end || _ <- lists:seq(1, Count)],
        ok = ?X:sync(D)
    end),
    Micros.

%% echo sends a binary there and back and gives the microseconds.
echo(Node, Bytes) ->
    Data = binary:copy(<<"nxvk!">>, Bytes div 5),
    {Micros, true} = timer:tc(fun() ->
        {ok, Back} = gen_server:call({nxvk, Node}, {echo, Data}, 600000),
        Back =:= Data
    end),
    Micros.

%% work computes and checks for so many milliseconds, and counts.
work(D, Millis) ->
    N = 5000,
    X = ?X:tensor(D, s32, {N}, lists:seq(1, N)),
    work(D, X, N, erlang:monotonic_time(millisecond) + Millis, 0).

work(D, X, N, Until, Count) ->
    case erlang:monotonic_time(millisecond) >= Until of
        true ->
            Count;
        false ->
            Y = ?X:op(D, multiply, {s32, {N}}, [X, ?X:scalar(s32, Count)], []),
            Z = ?X:op(D, sum, {s64, {}}, [Y], [[0], false]),
            Want = Count * (N * (N + 1) div 2),
            {ok, [Want]} = ?X:values(D, Z, s64),
            ?X:free(D, [Y, Z]),
            work(D, X, N, Until, Count + 1)
    end.

%% arm monitors a device server; fired waits until the monitor has fired and
%% gives its reason.
arm(D) ->
    Self = self(),
    Pid = spawn(fun() ->
        Ref = monitor(process, D),
        {ok, _} = ?X:memory(D),
        Self ! armed,
        receive {'DOWN', Ref, _, _, Reason} -> receive {ask, From} -> From ! {fired, Reason} end end
    end),
    register(nxvk_watch, Pid),
    receive armed -> ok end.

fired() ->
    nxvk_watch ! {ask, self()},
    receive {fired, Reason} -> Reason end.

%% buffers counts the values of all sessions, buffers_of those of a node.
buffers(Node) -> total(Node, fun(_) -> true end).
buffers_of(Node, Client) -> total(Node, fun(#{pid := P}) -> node(P) =:= Client end).

%% falls_to waits until all sessions together have so many values. The process of a call sends its
%% last signals in any order, so the node may hear of its end after the test does.
falls_to(Node, Count) -> falls_to(Node, Count, 15000).

falls_to(Node, Count, Tries) ->
    case buffers(Node) of
        Count -> ok;
        _ when Tries > 0 -> timer:sleep(20), falls_to(Node, Count, Tries - 1);
        Others -> exit({still_there, Others, ?X:sessions(Node)})
    end.

total(Node, Select) ->
    {ok, All} = ?X:sessions(Node),
    lists:sum([B || #{buffers := B} = S <- All, Select(S)]).

%% gone waits until no session is left of those that a function selects, or of
%% a node's processes.
gone(Node, Client) when is_atom(Client) -> gone(Node, fun(#{pid := P}) -> node(P) =:= Client end);
gone(Node, Select) -> gone(Node, Select, 15000).

gone(Node, _, 0) -> exit({still_there, ?X:sessions(Node)});
gone(Node, Select, Tries) ->
    {ok, All} = ?X:sessions(Node),
    case lists:filter(Select, All) of
        [] -> ok;
        _ -> timer:sleep(20), gone(Node, Select, Tries - 1)
    end.

incarnation(D) ->
    {ok, #{incarnation := I}} = ?X:call(D, info),
    I.

%% at asks under an incarnation and gives the kind of the error, or ok.
at(D, Incarnation, Request) ->
    case ?X:call(D, {at, Incarnation, Request}) of
        {error, {Kind, _, _, _}} -> Kind;
        _ -> ok
    end.

%% reconnect tries until the node answers.
reconnect(Node) -> reconnect(Node, 6000).

reconnect(Node, 0) -> {error, {cannot_connect, Node}};
reconnect(Node, Tries) ->
    case net_kernel:connect_node(Node) of
        true -> ok;
        _ -> timer:sleep(50), reconnect(Node, Tries - 1)
    end.

%% starve uploads tensors until one is refused, and gives the kind of the
%% error, its text, and whether what was there before still is.
starve(D, Bytes) ->
    First = ?X:tensor(D, u8, {Bytes}, binary:copy(<<9>>, Bytes)),
    {Kind, Text} = starve(D, Bytes, 1000),
    {ok, Data} = ?X:download(D, First),
    {Kind, Text, Data =:= binary:copy(<<9>>, Bytes)}.

starve(_, _, 0) -> {none, <<>>};
starve(D, Bytes, Tries) ->
    %% exp makes a result in the memory of the device.
    X = ?X:tensor(D, u8, {Bytes}, binary:copy(<<1>>, Bytes)),
    Y = ?X:op(D, exp, {f32, {Bytes}}, [X], []),
    case ?X:describe(D, Y) of
        {ok, _} -> starve(D, Bytes, Tries - 1);
        {error, {Kind, _, _, Text}} -> {Kind, Text}
    end.

%% hoard leaves a process behind that has Count tensors of 64 MiB on the device
%% and frees them when it is asked to sweep.
hoard({Name, _} = D, Count) ->
    Self = self(),
    spawn(fun() ->
        {ok, _} = ?X:open(D, #{sweep => true, label => <<"hoard">>}),
        Ids = large(D, Count),
        Self ! hoarded,
        receive {nxvk_sweep, Name, Ref} -> ?X:free(D, Ids), D ! {nxvk_swept, Ref} end,
        receive stop -> ok end
    end),
    receive hoarded -> ok end.

%% fill makes Count tensors of 64 MiB on the device and gives up when one cannot
%% be had.
fill(D, Count) ->
    length(large(D, Count)).

%% They are so large that the host makes none in the stead of a processor.
large(D, Count) ->
    Ids = [?X:op(D, constant, {f32, {16 bsl 20}}, [?X:scalar(f32, 1.5)], []) || _ <- lists:seq(1, Count)],
    [{ok, _} = ?X:describe(D, Id) || Id <- Ids],
    Ids.

%% refused asks for what the node does not do, and lists what it did all the
%% same.
refused(Node) ->
    [What || {What, F} <- [
        {spawn, fun() -> spawn_returns(Node) end},
        {rpc, fun() -> rpc:call(Node, erlang, node, [], 1000) =:= Node end}], F()].

%% spawn_returns is whether a process was made on a node; the caller is told
%% that it was not.
spawn_returns(Node) ->
    Id = spawn_request(Node, erlang, node, [], [{reply, yes}]),
    receive
        {spawn_reply, Id, ok, _} -> true;
        {spawn_reply, Id, error, _} -> false
    after 300000 ->
        exit(no_answer)
    end.
