%% Programs: regions, loops, callbacks, and what ends them.
-module(nxvk_programs).

-export([names/0, promise/3]).
-export([begin_loop/1]).

-include("nxvk_case.hrl").

names() ->
    [program, program_loop, program_branch, program_reduce, program_broken, program_unknown, program_types,
     program_hook, program_callback, program_callback_fails, program_cancel, program_ends_with_owner].

promise(program, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    Scale = {[v(1), s(2)], [{multiply, [v(3)], [1, 2], []}, {negate, [v(4)], [3], []}], [4, ?C:ten(), 1]},
    ?C:define(D, <<"scale">>, Scale),
    [begin
         [A, B, C] = run(D, <<"scale">>, [?V, {f32, {}}, ?V], [X, ?X:scalar(f32, K)]),
         ?match({ok, [K1, K2, K3]} when K1 =:= -K andalso K2 =:= -2 * K andalso K3 =:= -3 * K, ?X:values(D, A, f32)),
         ?match({ok, [10.0]}, ?X:values(D, B, f32)),
         ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, C, f32))
     end || K <- [2.0, 3.0, 4.0, 5.0]];
promise(program_loop, D, _) ->
    ?C:define(D, <<"powers">>, powers()),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"powers">>, [?V], [X, ?X:scalar(f32, N)]),
         ?match({ok, [P, _, _]} when P =:= Want, ?X:values(D, A, f32))
     end || {N, Want} <- [{0.0, 1.0}, {1.0, 2.0}, {10.0, 1024.0}, {100.0, math:pow(2, 100)}]];
promise(program_branch, D, _) ->
    Either = {[v(1), s(2)],
              [{branch, [v(3)], [2], [{[], [{negate, [v(4)], [1], []}], [4]}, {[], [], [1]}]}], [3]},
    ?C:define(D, <<"either">>, Either),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"either">>, [?V], [X, ?X:scalar(f32, P)]),
         ?match({ok, [F, _, _]} when F == Want, ?X:values(D, A, f32))
     end || {P, Want} <- [{1.0, -1.0}, {0.0, 1.0}, {-0.0, 1.0}, {0.5, -1.0}]];
promise(program_reduce, D, _) ->
    %% The function keeps the order: ((10 - 1) - 2) - 3.
    Minus = {[s(1), s(2)], [{subtract, [s(3)], [2, 1], []}], [3]},
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ?match({ok, [4.0]}, ?X:values(D, ?X:op(D, reduce, {f32, {}}, [X, ?C:ten()], [[0], false, Minus]), f32)),
    Windows = ?X:op(D, window_reduce, {f32, {2}}, [X, ?C:ten()], [[2], [{0, 0}], [1], [1], Minus]),
    ?match({ok, [7.0, 5.0]}, ?X:values(D, Windows, f32));
promise(program_broken, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [begin
         Key = term_to_binary(I),
         ?C:define(D, Key, Region),
         [A] = run(D, Key, [?V], [X]),
         ?match({error, {Kind, _, _, _}} when Kind =:= bad_argument orelse Kind =:= bad_request orelse Kind =:= unknown_op,
                ?X:download(D, A))
     end || {I, Region} <- lists:enumerate(
         [nonsense, {[], [], []}, {[v(1)], [], [2]}, {[v(1)], [{add, [v(1)], [1, 1], []}], [1]},
          {[v(1)], [{add, [v(2)], [3, 1], []}], [2]}, {[v(1)], [{fly, [v(2)], [1], []}], [2]},
          {[v(1)], [{add, [{2, f32, {4}}], [1, 1], []}], [1]}, {[v(1)], [{free, [], [], [[1]]}], [1]},
          {[v(1)], [{'while', [v(2)], [1], [{[v(3)], [], [3]}, {[v(4)], [], [4]}]}], [2]},
          {[v(1)], [{'while', [v(2)], [1], [{[v(3)], [], [?C:ten()]}, {[v(4)], [], [?C:ten()]}]}], [2]},
          {[v(1)], [{branch, [v(2)], [?C:ten()], [{[], [], [1]}]}], [2]}])],
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, X, f32));
promise(program_unknown, D, _) ->
    [A] = run(D, <<"never defined">>, [?V], []),
    ?match({error, {unknown_program, <<"run">>, [], _}}, ?X:download(D, A));
promise(program_types, D, _) ->
    ?C:define(D, <<"powers">>, powers()),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"powers">>, [?V], [X]),
    ?match({error, {bad_argument, <<"run">>, [<<"f32{3}">>], _}}, ?X:download(D, A)),
    [B] = run(D, <<"powers">>, [{f64, {3}}], [X, ?C:ten()]),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, B)),
    [C] = run(D, <<"powers">>, [?V], [A, ?C:ten()]),
    ?match({error, {bad_argument, <<"run">>, [<<"f32{3}">>], _}}, ?X:download(D, C));
promise(program_hook, {Name, _} = D, _) ->
    ?C:define(D, <<"told">>, {[v(1)], [{hook, [], [1, ?C:ten()], [5]}, {negate, [v(2)], [1], []}], [2]}),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"told">>, [?V], [X], self()),
    Data = ?X:encode(f32, [1.0, 2.0, 3.0]),
    Ten = ?X:encode(f32, [10.0]),
    receive {nxvk_hook, Name, A, 5, [{f32, {3}, Data}, {f32, {}, Ten}]} -> ok end,
    ?match({ok, [-1.0, -2.0, -3.0]}, ?X:values(D, A, f32));
promise(program_callback, {Name, _} = D, _) ->
    ?C:define(D, <<"asked">>, asked()),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"asked">>, [?V], [X], self()),
    receive
        {nxvk_callback, Name, A, Ref, 2, [{f32, {3}, Data}]} ->
            D ! {nxvk_answer, A, Ref, {ok, [?X:encode(f32, lists:reverse(?X:decode(f32, Data)))]}}
    end,
    ?match({ok, [-3.0, -2.0, -1.0]}, ?X:values(D, A, f32));
promise(program_callback_fails, {Name, _} = D, _) ->
    ?C:define(D, <<"asked">>, asked()),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"asked">>, [?V], [X], self()),
         receive {nxvk_callback, Name, A, Ref, 2, _} -> D ! {nxvk_answer, A, Ref, Answer} end,
         ?match({error, {callback, <<"run">>, _, _}}, ?X:download(D, A))
     end || Answer <- [{error, <<"no">>}, {ok, []}, {ok, [<<1>>]}, {ok, nothing}, whatever]],
    [B] = run(D, <<"asked">>, [?V], [X]),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, B));
promise(program_cancel, D, _) ->
    ?C:define(D, <<"forever">>, forever()),
    [A] = run(D, <<"forever">>, [{f32, {}}], []),
    %% Others go on, and so does whatever needs nothing of it.
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, ?C:vector(D, [1.0, 2.0, 3.0]), f32)),
    ok = ?X:call(D, barrier),
    {ok, [6.0]} = ?C:elsewhere(fun() -> ?X:values(D, ?X:tensor(D, f32, {1}, [6.0]), f32) end),
    ?X:stream(D, [{cancel, [], [], [[A]]}]),
    ?match({error, {cancelled, <<"run">>, _, _}}, ?X:download(D, A)),
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, ?C:vector(D, [1.0, 2.0, 3.0]), f32));
promise(program_ends_with_owner, D, N) ->
    Self = self(),
    Pid = spawn(fun() -> begin_loop(D), Self ! begun, receive never -> ok end end),
    receive begun -> ok end,
    exit(Pid, kill),
    ?C:gone(N, Pid).

%% begin_loop begins a run without an end, and gives its result's id once it is
%% under way.
begin_loop(D) ->
    ?C:define(D, <<"forever">>, forever()),
    [Id] = run(D, <<"forever">>, [{f32, {}}], []),
    ok = ?X:call(D, turn), %% the former name of barrier
    Id.

v(Id) -> {Id, f32, {3}}.
s(Id) -> {Id, f32, {}}.

run(D, Key, Types, Operands) -> run(D, Key, Types, Operands, nil).

run(D, Key, Types, Operands, Callbacks) ->
    Results = [{?X:id(D), Type, Shape} || {Type, Shape} <- Types],
    ?X:stream(D, [{run, Results, Operands, [Key, Callbacks]}]),
    [Id || {Id, _, _} <- Results].

%% powers doubles a vector as often as its second parameter says.
powers() ->
    One = ?X:scalar(f32, 1.0),
    {[v(1), s(2)],
     [{'while', [v(3), s(4)], [1, 2],
       [{[v(5), s(6)], [{greater, [{7, u8, {}}], [6, ?X:scalar(f32, 0.0)], []}], [7]},
        {[v(8), s(9)], [{add, [v(10)], [8, 8], []}, {subtract, [s(11)], [9, One], []}], [10, 11]}]}],
     [3]}.

asked() -> {[v(1)], [{callback, [v(2)], [1], [2]}, {negate, [v(3)], [2], []}], [3]}.

forever() ->
    {[], [{'while', [s(1)], [?C:ten()], [{[s(2)], [], [?C:ten()]}, {[s(3)], [{add, [s(4)], [3, 3], []}], [4]}]}], [1]}.
