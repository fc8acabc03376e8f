%% Sampling: draws, their chunks, and what ends them.
-module(nxvk_sampling).

-export([names/0, promise/3]).
-export([begin_chains/1]).

-include("nxvk_case.hrl").

names() ->
    [sample, sample_same, sample_data, sample_faults, sample_stops, sample_credit, sample_ends_with_owner,
     sample_reports, sample_goes_on, sample_gaps, summary].

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
    ?C:gone(N, Pid);

promise(sample_reports, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, Run} = ?X:call(D, {sample, (options())#{chains => 2, draws => 1000000000, report => 10}}),
    Reports = fun Again(Last) ->
        receive
            {nxvk_progress, Name, Run, Chains} ->
                [_, Done | _] = Numbers = ?X:decode(f64, Chains),
                12 = length(Numbers),
                true = Done >= Last,
                if Done > 1000.0 -> Numbers; true -> Again(Done) end
        end
    end,
    ?match([500.0, _, _, _, Steps, Size | _] when Steps > 1500 andalso Size > 0.1, Reports(0.0)),
    ok = ?X:call(D, {stop, Run}),
    ?match({_, {error, {cancelled, _, _, _}}}, gather(Name, Run, 0));
promise(sample_goes_on, {Name, _} = D, _) ->
    ?C:define(D, <<"normal">>, normal()),
    {ok, First} = ?X:call(D, {sample, (options())#{draws => 10}}),
    {_, {ok, #{step := Step, metric := Metric, starts := 1, failures := 0, failure := nil}}} = gather(Name, First, 0),
    {ok, Run} = ?X:call(D, {sample, (options())#{chains => 2, draws => 10, adapt => false,
                                                 step => <<Step:64/float-little, 0.125:64/float-little>>, metric => <<Metric/binary, Metric/binary>>}}),
    ?match({[_], {ok, #{step := Step, metric := Metric}}}, gather(Name, Run, 0)),
    ?match({[_], {ok, #{step := 0.125}}}, gather(Name, Run, 1)),
    ?match({error, {bad_request, _, _, _}}, ?X:call(D, {sample, (options())#{step => <<Step:64/float-little, 0.125:64/float-little>>}}));
promise(sample_gaps, {Name, _} = D, _) ->
    %% The matrix is singular where the position is not below 1.
    Gap = {[{1, f64, {1}}],
           [{max, [{2, f64, {1}}], [1, ?X:scalar(f64, 1.0)], []}, {subtract, [{3, f64, {1}}], [2, 1], []},
            {reshape, [{4, f64, {1, 1}}], [3], []},
            {triangular_solve, [{5, f64, {1}}], [4, {f64, {1}, <<0:64>>}], [true, true, none]},
            {multiply, [{6, f64, {1}}], [1, 1], []}, {add, [{7, f64, {1}}], [6, 5], []},
            {sum, [{8, f64, {}}], [7], [[0], false]}, {multiply, [{9, f64, {}}], [8, ?X:scalar(f64, -0.5)], []},
            {negate, [{10, f64, {1}}], [1], []}], [9, 10]},
    ?C:define(D, <<"gap">>, Gap),
    {ok, Run} = ?X:call(D, {sample, (options())#{program => <<"gap">>, dim => 1}}),
    {Chunks, End} = gather(Name, Run, 0),
    ?match({ok, #{failures := N, failure := <<_, _/binary>>}} when N > 0, End),
    ?match(Q when Q < 1, lists:max(?X:decode(f64, iolist_to_binary([Q || {draws, _, Q, _} <- Chunks]))));
promise(summary, D, _) ->
    Data = << <<(float(X)):64/float-little>> || X <- [1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1] >>,
    {ok, Numbers} = ?X:call(D, {summary, #{chains => 1, draws => 8, data => Data}}),
    ?match([4.5, _, _, Low, 4.5, High, _, _, _, Rhat] when abs(Low - 1.35) < 1.0e-9 andalso abs(High - 7.65) < 1.0e-9 andalso Rhat > 1.5,
           ?X:decode(f64, binary:part(Numbers, 0, 80))),
    ?match(160, byte_size(Numbers)),
    {ok, <<_:16/binary, None:8/binary, _/binary>>} = ?X:call(D, {summary, #{draws => 2, data => binary:part(Data, 0, 16)}}),
    ?match([nan], ?X:decode(f64, None)),
    [?match({error, {bad_request, _, _, _}}, ?X:call(D, {summary, Options}))
     || Options <- [#{}, #{draws => 5, data => Data}, #{draws => 8}, #{draws => 8, data => Data, fly => 1}]].

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
