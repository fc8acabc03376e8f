%% A program on nxvk-node from plain Erlang, through the messages that
%% gen/README.md documents: arithmetic, a matrix product, and a hundred steps of
%% gradient descent. Each result is compared with one computed in this VM.
%%
%%     erl -noshell -name demo@127.0.0.1 -setcookie COOKIE -pa DIR \
%%         -s demo main nxvk@127.0.0.1
%%
%% DIR has this module and nxvk_client, compiled.
-module(demo).

-export([main/1]).

-define(X, nxvk_client).

main([Node]) ->
    Status = try run(Node) of
        ok -> 0
    catch
        Class:Reason:Stack ->
            io:format("demo: ~p~n", [{Class, Reason, Stack}]),
            1
    end,
    init:stop(Status).

run(Node) ->
    ok = ?X:connect(Node),
    {ok, #{version := Version, devices := [#{name := Name, kind := Kind, driver := Driver} | _]}} = ?X:info(Node),
    D = ?X:device(Node, 0),
    io:format("node     ~s, ~s~ndevice   ~s (~s), ~s~n", [Node, Version, Name, Kind, Driver]),
    arithmetic(D),
    product(D),
    descent(D).

%% report prints a check and fails where it does not hold.
report(What, Difference, Bound, Micros) ->
    io:format("~-34s difference ~8.2e (at most ~8.2e)  ~10.3f ms~n", [What, float(Difference), float(Bound), Micros / 1000]),
    Difference =< Bound orelse error({What, differs, Difference}).

worst(Got, Want) -> lists:max([abs(A - B) || {A, B} <- lists:zip(Got, Want)]).

%% Arithmetic: exp(-x^2 / 2) over a line of numbers, in one message.

arithmetic(D) ->
    N = 100000,
    Numbers = [I / N - 0.5 || I <- lists:seq(1, N)],
    X = ?X:tensor(D, f32, {N}, Numbers),
    ok = ?X:sync(D),
    Compute = fun() ->
        Square = ?X:op(D, multiply, {f32, {N}}, [X, X], []),
        Half = ?X:op(D, multiply, {f32, {N}}, [Square, ?X:scalar(f32, -0.5)], []),
        Y = ?X:op(D, exp, {f32, {N}}, [Half], []),
        {ok, Data} = ?X:download(D, Y),
        ?X:free(D, [Square, Half, Y]),
        Data
    end,
    Compute(),
    {Micros, Data} = timer:tc(Compute),
    report("exp(-x*x/2), 100000 elements", worst(?X:decode(f32, Data), [math:exp(-V * V / 2) || V <- Numbers]), 2.0e-7, Micros),
    ?X:free(D, [X]).

%% A matrix product of integers in floats, whose sums are exact.

product(D) ->
    N = 256,
    A = [I rem 7 - 3 || I <- lists:seq(1, N * N)],
    B = [I rem 5 - 2 || I <- lists:seq(1, N * N)],
    Compute = fun() ->
        X = ?X:tensor(D, f32, {N, N}, [float(I) || I <- A]),
        Y = ?X:tensor(D, f32, {N, N}, [float(I) || I <- B]),
        Z = ?X:op(D, dot, {f32, {N, N}}, [X, Y], [[1], [], [0], []]),
        {ok, Data} = ?X:download(D, Z),
        ?X:free(D, [X, Y, Z]),
        Data
    end,
    Compute(),
    {Micros, Data} = timer:tc(Compute),
    Rows = rows(N, A),
    Columns = transpose(rows(N, B)),
    %% Some rows are enough to tell.
    Checked = [1, 2, 100, N],
    Want = [dot(lists:nth(R, Rows), C) || R <- Checked, C <- Columns],
    Got = lists:append([?X:decode(f32, binary:part(Data, (R - 1) * N * 4, N * 4)) || R <- Checked]),
    report("256 x 256 by 256 x 256", worst(Got, Want), 0.0, Micros).

%% Gradient descent on Dense(4 -> 32, tanh) -> Dense(1): a regression of 64
%% points. Losses stay on the node until the end.

-define(POINTS, 64).
-define(INPUTS, 4).
-define(HIDDEN, 32).
-define(RATE, 0.05).
-define(STEPS, 100).

descent(D) ->
    rand:seed(exsss, {1, 2, 3}),
    X = [[random() || _ <- lists:seq(1, ?INPUTS)] || _ <- lists:seq(1, ?POINTS)],
    Y = [[math:sin(A) + B * C - 0.5 * E] || [A, B, C, E] <- X],
    W1 = [[random() * 0.5 || _ <- lists:seq(1, ?HIDDEN)] || _ <- lists:seq(1, ?INPUTS)],
    W2 = [[random() * 0.2] || _ <- lists:seq(1, ?HIDDEN)],
    B1 = lists:duplicate(?HIDDEN, 0.0),
    {Reference, Wanted} = timer:tc(fun() -> reference(?STEPS, X, Y, W1, B1, W2, 0.0, []) end),
    Train = fun() -> train(D, X, Y, W1, B1, W2) end,
    %% A node compiles what it sees again: how long that takes is not the loop's time.
    [Train() || _ <- lists:seq(1, 4)],
    {Micros, Losses} = timer:tc(Train),
    report("100 steps of SGD, losses", worst(Losses, Wanted), 2.0e-6, Micros),
    io:format("loss     ~.6f at first, ~.6f at last; this VM took ~.1f ms~n",
              [hd(Losses), lists:last(Losses), Reference / 1000]),
    ok.

%% random is a number that f32 has exactly.
random() -> (rand:uniform(2048) - 1024) / 1024.

train(D, X, Y, W1, B1, W2) ->
    Upload = fun(Rows) -> ?X:tensor(D, f32, {length(Rows), length(hd(Rows))}, lists:append(Rows)) end,
    Batch = {Upload(X), Upload(Y)},
    Start = {Upload(W1), ?X:tensor(D, f32, {?HIDDEN}, B1), Upload(W2), ?X:tensor(D, f32, {}, [0.0])},
    {End, Losses} = lists:foldl(fun(_, {Weights, Losses}) ->
        {Next, Loss} = step(D, Batch, Weights),
        {Next, [Loss | Losses]}
    end, {Start, []}, lists:seq(1, ?STEPS)),
    Numbers = [begin {ok, [L]} = ?X:values(D, Id, f32), L end || Id <- lists:reverse(Losses)],
    ?X:free(D, tuple_to_list(Batch) ++ tuple_to_list(End) ++ Losses),
    Numbers.

%% step sends one step as one message and gives the ids of the new weights and
%% of the loss.
step(D, {X, Y}, {W1, B1, W2, B2}) ->
    P = ?POINTS, H = ?HIDDEN, I = ?INPUTS,
    Matrix = [[1], [], [0], []],
    Forward = [
        {x1,   dot,      {f32, {P, H}}, [X, W1], Matrix},
        {s1,   add,      {f32, {P, H}}, [x1, B1], []},
        {h,    tanh,     {f32, {P, H}}, [s1], []},
        {x2,   dot,      {f32, {P, 1}}, [h, W2], Matrix},
        {out,  add,      {f32, {P, 1}}, [x2, B2], []},
        {e,    subtract, {f32, {P, 1}}, [out, Y], []},
        {ee,   multiply, {f32, {P, 1}}, [e, e], []},
        {sum,  sum,      {f32, {}},     [ee], [[0, 1], false]},
        {loss, multiply, {f32, {}},     [sum, {f32, 1 / P}], []}],
    Backward = [
        {g,    multiply, {f32, {P, 1}}, [e, {f32, 2 / P}], []},
        {gb2,  sum,      {f32, {}},     [g], [[0, 1], false]},
        {gw2,  dot,      {f32, {H, 1}}, [h, g], [[0], [], [0], []]},
        {gh,   dot,      {f32, {P, H}}, [g, W2], [[1], [], [1], []]},
        {hh,   multiply, {f32, {P, H}}, [h, h], []},
        {d,    subtract, {f32, {P, H}}, [{f32, 1.0}, hh], []},
        {gs,   multiply, {f32, {P, H}}, [gh, d], []},
        {gb1,  sum,      {f32, {H}},    [gs], [[0], false]},
        {gw1,  dot,      {f32, {I, H}}, [X, gs], [[0], [], [0], []]}],
    Update = lists:append([[
        {{scaled, G}, multiply, {f32, S}, [G, {f32, ?RATE}], []},
        {{new, G},    subtract, {f32, S}, [Old, {scaled, G}], []}]
        || {G, S, Old} <- [{gw1, {I, H}, W1}, {gb1, {H}, B1}, {gw2, {H, 1}, W2}, {gb2, {}, B2}]]),
    {Instructions, Ids} = number(D, Forward ++ Backward ++ Update),
    Keep = [loss, {new, gw1}, {new, gb1}, {new, gw2}, {new, gb2}],
    [Loss | New] = [maps:get(Name, Ids) || Name <- Keep],
    Gone = [W1, B1, W2, B2 | maps:values(maps:without(Keep, Ids))],
    ?X:stream(D, Instructions ++ [{free, [], [], [Gone]}]),
    {list_to_tuple(New), Loss}.

%% number gives each named value an id.
number(D, Rows) ->
    lists:mapfoldl(fun({Name, Op, {Type, Shape}, Operands, Attributes}, Ids) ->
        Id = ?X:id(D),
        {{Op, [{Id, Type, Shape}], [operand(O, Ids) || O <- Operands], Attributes}, Ids#{Name => Id}}
    end, #{}, Rows).

operand({f32, Number}, _) -> ?X:scalar(f32, Number);
operand(Id, _) when is_integer(Id) -> Id;
operand(Name, Ids) -> maps:get(Name, Ids).

%% The same in this VM.

reference(0, _, _, _, _, _, _, Losses) -> lists:reverse(Losses);
reference(Steps, X, Y, W1, B1, W2, B2, Losses) ->
    Columns = transpose(W1),
    Out = lists:append(transpose(W2)),
    Hidden = [[math:tanh(dot(Row, C) + B) || {C, B} <- lists:zip(Columns, B1)] || Row <- X],
    Errors = [dot(H, Out) + B2 - V || {H, [V]} <- lists:zip(Hidden, Y)],
    Loss = lists:sum([E * E || E <- Errors]) / ?POINTS,
    G = [2 * E / ?POINTS || E <- Errors],
    Gs = [[E * W * (1 - V * V) || {W, V} <- lists:zip(Out, H)] || {E, H} <- lists:zip(G, Hidden)],
    GsColumns = transpose(Gs),
    Less = fun(Old, Gradient) -> Old - ?RATE * Gradient end,
    NewW1 = [[Less(W, dot(XC, GC)) || {W, GC} <- lists:zip(Row, GsColumns)] || {Row, XC} <- lists:zip(W1, transpose(X))],
    NewB1 = [Less(B, lists:sum(GC)) || {B, GC} <- lists:zip(B1, GsColumns)],
    NewW2 = [[Less(W, dot(HC, G))] || {W, HC} <- lists:zip(Out, transpose(Hidden))],
    reference(Steps - 1, X, Y, NewW1, NewB1, NewW2, Less(B2, lists:sum(G)), [Loss | Losses]).

dot(A, B) -> dot(A, B, 0).
dot([A | As], [B | Bs], Sum) -> dot(As, Bs, Sum + A * B);
dot([], [], Sum) -> Sum.

rows(_, []) -> [];
rows(N, List) ->
    {Row, Rest} = lists:split(N, List),
    [Row | rows(N, Rest)].

transpose([[] | _]) -> [];
transpose(Rows) -> [[hd(R) || R <- Rows] | transpose([tl(R) || R <- Rows])].
