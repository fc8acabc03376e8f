%% Streams of instructions, what is wrong with them, and ids.
-module(nxvk_messages).

-export([names/0, promise/3]).

-include("nxvk_case.hrl").

names() ->
    [info, device_info, echo, stream_in_order, describe, partial_download, free, ids_grow, all_types_stored,
     literal_tensors, inherited_error, independent_goes_on, overwritten_error, unknown_op, program_only,
     wrong_arity, wrong_attribute_count, wrong_attribute_type, wrong_result_type, shape_mismatch, short_data,
     unknown_id, freed_id, foreign_id, bad_ids, huge_shape, bad_shapes, not_an_instruction, not_a_stream,
     improper_list, bad_requests, then, poisoned_download, stale_stream, stale_call, incarnation_accepted].

%% The manager.

promise(info, {Name, _}, N) ->
    {ok, Info} = ?X:info(N),
    #{version := V, incarnation := I, digest := G, os := O, devices := Ds} = Info,
    true = is_binary(V) andalso is_integer(I) andalso I > 0 andalso is_binary(G) andalso is_binary(O),
    ?match([_], [Dev || #{server := S} = Dev <- Ds, S =:= Name]);
promise(device_info, D, _) ->
    {ok, #{index := 0, name := Name, kind := Kind, uuid := U, driver := R, memory := M, types := T, features := F}} =
        ?X:call(D, info),
    true = is_binary(Name) andalso is_atom(Kind) andalso is_binary(U) andalso is_binary(R),
    true = is_integer(M) andalso is_list(T) andalso is_list(F);
promise(echo, _, N) ->
    Terms = [[], {}, #{}, x, 'Ünïcode', 1, -1, 1 bsl 70, -(1 bsl 70), 1.5, <<>>, <<1>>, <<5:3>>, "text", [a | b],
             self(), make_ref(), fun lists:map/2, #{a => [1, {2}], 1 => <<"x">>}, lists:seq(1, 1000),
             binary:copy(<<"0123456789">>, 10000), [binary:copy(<<7>>, 100000), {binary:copy(<<8>>, 70000)}]],
    [{ok, T} = ?X:echo(N, T) || T <- Terms];

%% Streams.

promise(stream_in_order, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    Last = lists:foldl(fun(_, Id) -> ?X:op(D, add, ?V, [Id, ?C:ten()], []) end, X, lists:seq(1, 50)),
    ?match({ok, [501.0, 502.0, 503.0]}, ?X:values(D, Last, f32));
promise(describe, D, _) ->
    X = ?X:tensor(D, u8, {2, 2}, [1, 2, 3, 4]),
    ?match({ok, {u8, {2, 2}}}, ?X:describe(D, X)),
    S = ?X:op(D, sum, {u8, {}}, [X], [[0, 1], false]),
    ?match({ok, {u8, {}}}, ?X:describe(D, S));
promise(then, D, _) ->
    X = ?X:tensor(D, u8, {2}, [1, 2]),
    Id = ?X:id(D),
    Twice = {add, [{Id, u8, {2}}], [X, X], []},
    ?match({ok, <<2, 4>>}, ?X:call(D, {then, [Twice], {download, Id}}));
promise(partial_download, D, _) ->
    X = ?X:tensor(D, s16, {5}, [1, 2, 3, 4, 5]),
    ?match({ok, <<2:16/little, 3:16/little>>}, ?X:download(D, X, 1, 2)),
    ?match({ok, <<5:16/little>>}, ?X:download(D, X, 4, 100)),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, X, 6, 1));
promise(free, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ?X:free(D, [X, 999]),
    ?match({error, {unknown_id, _, _, _}}, ?X:download(D, X));
promise(ids_grow, D, _) ->
    Id = (1 bsl 60),
    ?X:stream(D, [{tensor, [{Id, u8, {1}}], [{u8, {1}, <<7>>}], []}]),
    ?match({ok, <<7>>}, ?X:download(D, Id));
promise(all_types_stored, D, _) ->
    Types = [u2, u4, u8, u16, u32, u64, s2, s4, s8, s16, s32, s64, f8, f8_e4m3fn, bf16, f16, f32, f64, c64, c128],
    [begin
         {ok, One} = ?X:download(D, ?X:op(D, constant, {T, {}}, [{u8, <<1>>}], [])),
         Data = binary:copy(One, 6),
         X = ?X:tensor(D, T, {2, 3}, Data),
         Y = ?X:op(D, transpose, {T, {3, 2}}, [X], [[1, 0]]),
         ?match({T, {ok, Data}}, {T, ?X:download(D, Y)})
     end || T <- Types];
promise(literal_tensors, D, _) ->
    Y = ?X:op(D, multiply, ?V, [{f32, {3}, ?X:encode(f32, [1.0, 2.0, 3.0])}, ?C:ten()], []),
    ?match({ok, [10.0, 20.0, 30.0]}, ?X:values(D, Y, f32));

%% Errors stay with the result.

promise(inherited_error, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    Bad = ?X:op(D, add, ?V, [X, {f32, {2}, <<0:64>>}], []),
    Next = ?X:op(D, exp, ?V, [Bad], []),
    {error, Error} = ?match({error, {bad_argument, <<"add">>, [<<"f32{3}">>, <<"f32{2}">>], _}}, ?X:download(D, Bad)),
    ?match({error, Error}, ?X:download(D, Next)),
    ?match({error, Error}, ?X:describe(D, Next));
promise(independent_goes_on, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    _ = ?X:op(D, no_such_op, ?V, [X], []),
    Y = ?X:op(D, add, ?V, [X, ?C:ten()], []),
    ?match({ok, [11.0, 12.0, 13.0]}, ?X:values(D, Y, f32)),
    ?match(ok, ?X:sync(D));
promise(overwritten_error, D, _) ->
    Bad = ?X:op(D, add, ?V, [77, 78], []),
    ?match({error, {unknown_id, <<"add">>, _, _}}, ?X:download(D, Bad)),
    ?X:free(D, [Bad]),
    {ok, #{session := #{buffers := 0}}} = ?X:memory(D);
promise(unknown_op, D, _) ->
    ?match({error, {unknown_op, <<"frobnicate">>, _, _}}, ?X:download(D, ?X:op(D, frobnicate, ?V, [], [])));
promise(program_only, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    Nothing = {[], [], [X]},
    ?match({error, {bad_argument, <<"branch">>, _, _}},
           ?X:download(D, ?X:op(D, branch, ?V, [?C:ten()], [Nothing, Nothing])));
promise(wrong_arity, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ?match({error, {bad_argument, <<"add">>, [<<"f32{3}">>], _}}, ?X:download(D, ?X:op(D, add, ?V, [X], []))),
    ?match({error, {bad_argument, <<"exp">>, _, _}}, ?X:download(D, ?X:op(D, exp, ?V, [X, X], [])));
promise(wrong_attribute_count, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], [[0]])));
promise(wrong_attribute_type, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], A)))
     || A <- [[0, false], [[a], false], [[0], 1], [[0], nope], [[1.5], true], [[1 bsl 80], true], [[0 | 1], true]]],
    ?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], [[7], false]))),
    ?match({error, {bad_argument, <<"argmax">>, _, _}},
           ?X:download(D, ?X:op(D, argmax, {s32, {}}, [X], [-1, false, middle])));
promise(wrong_result_type, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    [?match({error, {bad_argument, _, _, _}}, ?X:download(D, ?X:op(D, Op, Out, [X, X], [])))
     || {Op, Out} <- [{equal, {f32, {3}}}, {divide, {s32, {3}}}, {add, {f32, {2}}}, {add, {f31, {3}}}]];
promise(shape_mismatch, D, _) ->
    A = ?X:tensor(D, f32, {2, 3}, lists:duplicate(6, 1.0)),
    ?match({error, {bad_argument, <<"dot">>, [<<"f32{2, 3}">>, <<"f32{2, 3}">>], _}},
           ?X:download(D, ?X:op(D, dot, {f32, {2, 2}}, [A, A], [[1], [], [0], []])));
promise(short_data, D, _) ->
    ?match({error, {bad_argument, <<"tensor">>, _, _}}, ?X:download(D, ?X:tensor(D, f32, {3}, <<0:64>>)));

%% Ids.

promise(unknown_id, D, _) ->
    ?match({error, {unknown_id, _, _, _}}, ?X:download(D, 5)),
    ?match({error, {unknown_id, <<"add">>, _, _}}, ?X:download(D, ?X:op(D, add, ?V, [998, 999], [])));
promise(freed_id, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ?X:free(D, [X]),
    {error, {unknown_id, _, _, Text}} = ?X:download(D, ?X:op(D, exp, ?V, [X], [])),
    ?match({_, _}, binary:match(Text, <<"freed">>));
promise(foreign_id, D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    ok = ?X:sync(D),
    ?match({error, {unknown_id, _, _, _}}, ?C:elsewhere(fun() -> ?X:download(D, X) end));
promise(bad_ids, D, _) ->
    [?match({error, {bad_request, _, _, _}}, ?X:download(D, Id)) || Id <- [0, -1, (1 bsl 60) + 1, 1 bsl 90, x, 1.0]],
    ?match({error, {bad_request, _, _, _}}, ?X:download(D, ?X:op(D, exp, ?V, [x], [])));
promise(huge_shape, D, _) ->
    [?match({error, {bad_argument, _, _, _}}, ?X:download(D, ?X:op(D, Op, {f32, Shape}, Ins, Attributes)))
     || {Op, Ins, Attributes} <- [{constant, [?C:ten()], []}, {iota, [], [-1]}],
        Shape <- [{1 bsl 62}, {1 bsl 31, 1 bsl 31}, {1 bsl 21, 1 bsl 21, 1 bsl 20}]];
promise(bad_shapes, D, _) ->
    [begin
         Id = ?X:id(D),
         ?X:stream(D, [{iota, [{Id, f32, Shape}], [], [-1]}]),
         ?match({error, {_, _, _, _}}, ?X:download(D, Id))
     end || Shape <- [{0}, {-1}, {a}, [3], 3, {1 bsl 70}, {1.0}, list_to_tuple(lists:duplicate(300, 1))]];
promise(not_an_instruction, {Name, _} = D, _) ->
    [begin
         ?X:stream(D, [I]),
         receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 300000 -> exit({no_error_for, I}) end
     end || I <- [x, {}, {add}, {add, [], []}, 7, <<"add">>, {add, x, [], []}, {add, [{0, f32, {}}], [], []}]];
promise(not_a_stream, {Name, _} = D, _) ->
    [begin
         D ! M,
         receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 300000 -> exit({no_error_for, M}) end
     end || M <- [x, {nxvk}, {nxvk, x}, {nxvk, x, []}, {other, []}, [], <<1>>, #{}, {nxvk, [], [], []}]];
promise(improper_list, {Name, _} = D, _) ->
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    D ! {nxvk, [{free, [], [], [[]]} | x]},
    receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 300000 -> exit(no_error) end,
    ?match({ok, _}, ?X:download(D, X));
promise(bad_requests, D, N) ->
    [?match({error, {bad_request, _, _, _}}, ?X:call(D, R))
     || R <- [x, {}, {download}, {download, 1, 2}, {download, 1, -1, 1}, {open, x}, {open, #{what => 1}},
              {open, #{limit => 0}}, {open, #{label => 5}}, {open, #{sweep => yes}}, [], {at, x, sync}, {at, 1, {at, 1, sync}},
              {then, x, sync}, {then, [], {then, [], sync}}]],
    [?match({error, {bad_request, _, _, _}}, ?X:call({nxvk, N}, R)) || R <- [x, {echo}, 1, #{}]];
promise(poisoned_download, D, _) ->
    Bad = ?X:op(D, reshape, {f32, {5}}, [?C:vector(D, [1.0, 2.0, 3.0])], []),
    ?match({error, {bad_argument, <<"reshape">>, [<<"f32{3}">>], _}}, ?X:download(D, Bad)),
    ?match({error, {bad_argument, <<"reshape">>, [<<"f32{3}">>], _}}, ?X:download(D, Bad, 0, 1));

%% Incarnations.

promise(stale_stream, D, _) ->
    Id = ?X:id(D),
    D ! {nxvk, 12345, [{iota, [{Id, s32, {3}}], [], [-1]}]},
    ?match({error, {stale, <<"iota">>, _, _}}, ?X:download(D, Id));
promise(stale_call, D, _) ->
    ?match({error, {stale, _, _, _}}, ?X:call(D, {at, 12345, sync}));
promise(incarnation_accepted, D, _) ->
    {ok, #{incarnation := I}} = ?X:open(D, #{}),
    Id = ?X:id(D),
    D ! {nxvk, I, [{iota, [{Id, s32, {3}}], [], [-1]}]},
    ?match({ok, <<0:32/little, 1:32/little, 2:32/little>>}, ?X:call(D, {at, I, {download, Id}})).
