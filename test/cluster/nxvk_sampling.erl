%% Sampling: draws, their chunks, and what ends them.
-module(nxvk_sampling).

-export([names/0, promise/3]).
-export([begin_chains/1]).

-include("nxvk_case.hrl").

names() ->
    [sample, sample_same, sample_data, sample_faults, sample_stops, sample_credit, sample_ends_with_owner].

promise(sample, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, Run} = ?X:call(D, {sample, (options())#{chains => 2, draws => 1000, chunk => 250, warmup_draws => true}}),
    Both = [gather(Name, Run, Chain) || Chain <- [0, 1]],
    [begin
         ?match({ok, #{step := S, metric := <<_:16/binary>>}} when S > 0.1 andalso S < 3.0, End),
         ?match(500, length(?X:decode(f64, iolist_to_binary([Q || {warmup, _, Q, _} <- Chunks]))) div 2),
         Qs = ?X:decode(f64, iolist_to_binary([Q || {draws, 250, Q, _} <- Chunks])),
         ?match(2000, length(Qs)),
         Mean = lists:sum(Qs) / 2000,
         Variance = lists:sum([(Q - Mean) * (Q - Mean) || Q <- Qs]) / 2000,
         ?match(M when abs(M) < 0.15, Mean),
         ?match(V when abs(V - 1) < 0.2, Variance),
         Stats = ?X:decode(f64, iolist_to_binary([S || {draws, _, _, S} <- Chunks])),
         ?match(7000, length(Stats))
     end || {Chunks, End} <- Both],
    [{A, _}, {B, _}] = Both,
    true = A =/= B;
promise(sample_same, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    [A, A, B] = [begin
                     {ok, Run} = ?X:call(D, {sample, (options())#{seed => Seed, draws => 50}}),
                     {Chunks, {ok, _}} = gather(Name, Run, 0),
                     Chunks
                 end || Seed <- [7, 7, 8]],
    true = A =/= B;
promise(sample_data, {Name, _} = D, _) ->
    %% The mean of the density is data, which is gone when sampling begins.
    Shifted = {[{1, f64, {2}}, {2, f64, {2}}],
               [{subtract, [{3, f64, {2}}], [1, 2], []}, {multiply, [{4, f64, {2}}], [3, 3], []},
                {sum, [{5, f64, {}}], [4], [[0], false]},
                {multiply, [{6, f64, {}}], [5, ?X:scalar(f64, -0.5)], []}, {negate, [{7, f64, {2}}], [3], []}], [6, 7]},
    ?C:define(D, <<"shifted">>, Shifted),
    X = ?X:tensor(D, f64, {2}, [10.0, 10.0]),
    {ok, Run} = ?X:call(D, {sample, (options())#{program => <<"shifted">>, data => [X]}}),
    ?X:free(D, [X]),
    {Chunks, {ok, _}} = gather(Name, Run, 0),
    Qs = ?X:decode(f64, iolist_to_binary([Q || {draws, _, Q, _} <- Chunks])),
    ?match(M when abs(M - 10) < 0.3, lists:sum(Qs) / length(Qs));
promise(sample_faults, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    [?match({error, {K, _, _, _}} when K =:= Kind, ?X:call(D, {sample, Options}))
     || {Kind, Options} <- [{bad_request, nothing}, {bad_request, #{}}, {bad_request, (options())#{dim => 0}},
                            {bad_request, (options())#{chains => 0}}, {bad_request, (options())#{fly => 1}},
                            {bad_request, (options())#{init => <<1>>}}, {bad_request, (options())#{init => <<0:64>>}},
                            {bad_request, (options())#{credit => 0}}, {bad_request, (options())#{type => s32}}, {bad_request, (options())#{seed => x}},
                            {bad_argument, (options())#{dim => 3}}, {bad_argument, (options())#{data => [?C:ten()]}},
                            {bad_argument, (options())#{target => 2.0}}, {bad_argument, (options())#{step => -1.0}},
                            {bad_argument, (options())#{metric => <<0:128>>}}, {bad_argument, (options())#{type => f32}},
                            {unknown_program, (options())#{program => <<"none">>}}]],
    Nowhere = {[{1, f64, {2}}], [], [?X:scalar(f64, neg_infinity), 1]},
    ?C:define(D, <<"nowhere">>, Nowhere),
    {ok, Run} = ?X:call(D, {sample, (options())#{program => <<"nowhere">>}}),
    ?match({[], {error, {bad_argument, _, _, _}}}, gather(Name, Run, 0));
promise(sample_stops, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, Run} = ?X:call(D, {sample, (options())#{draws => 1000000000}}),
    receive {nxvk_draws, Name, Run, 0, draws, _, _, _} -> ok end,
    ok = ?X:call(D, {stop, Run}),
    ?match({_, {error, {cancelled, _, _, _}}}, gather(Name, Run, 0)),
    ?match({error, {bad_argument, _, _, _}}, ?X:call(D, {stop, Run}));
promise(sample_credit, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, Run} = ?X:call(D, {sample, (options())#{chunk => 50, credit => 2}}),
    More = fun() -> receive {nxvk_draws, Name, Run, 0, draws, 50, _, _} -> more after 200 -> none end end,
    [First | Rest] = [receive {nxvk_draws, Name, Run, 0, draws, 50, _, _} -> more end, More(), More()],
    ?match({more, [more, none]}, {First, Rest}),
    D ! {nxvk_more, Run, 3},
    ?match([more, more, more, none], [More(), More(), More(), More()]),
    D ! {nxvk_more, Run, 0},
    receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok end,
    D ! {nxvk_more, Run + 1, 1},
    D ! {nxvk_more, Run, 100},
    {Chunks, {ok, _}} = gather(Name, Run, 0),
    ?match(5, length(Chunks));
promise(sample_ends_with_owner, D, N) ->
    Self = self(),
    Pid = spawn(fun() -> begin_chains(D), Self ! begun, receive never -> ok end end),
    receive begun -> ok end,
    exit(Pid, kill),
    ?C:gone(N, Pid).

%% begin_chains begins chains that draw without an end, and gives their number
%% once draws come.
begin_chains({Name, _} = D) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, Run} = ?X:call(D, {sample, (options())#{chains => 2, draws => 1000000000}}),
    receive {nxvk_draws, Name, Run, _, draws, _, _, _} -> Run end.

%% normal is the density of two independent standard normal numbers.
normal() ->
    {[{1, f64, {2}}],
     [{multiply, [{2, f64, {2}}], [1, 1], []}, {sum, [{3, f64, {}}], [2], [[0], false]},
      {multiply, [{4, f64, {}}], [3, ?X:scalar(f64, -0.5)], []}, {negate, [{5, f64, {2}}], [1], []}], [4, 5]}.

options() -> #{program => <<"normal">>, dim => 2, warmup => 500, draws => 500, seed => 1}.

%% gather waits for the end of a chain and gives what came before it.
gather(Name, Run, Chain) ->
    receive
        {nxvk_draws, Name, Run, Chain, Phase, Count, Q, S} ->
            {More, End} = gather(Name, Run, Chain),
            {[{Phase, Count, Q, S} | More], End};
        {nxvk_chain, Name, Run, Chain, End} -> {[], End}
    end.
