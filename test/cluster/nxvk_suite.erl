%% What the messages of gen/README.md promise, one function a promise. Each
%% runs in a process of its own, so in a session of its own.
-module(nxvk_suite).

-export([names/0, run/2]).
-export([begin_loop/1, begin_chains/1]).

-define(X, nxvk_client).
-define(V, {f32, {3}}).
-define(match(Pattern, Expression),
        (fun(Got) ->
             case Got of
                 Pattern -> Got;
                 _ -> exit({line, ?LINE, wanted, ??Pattern, got, Got})
             end
         end)(Expression)).

names() ->
    [info, device_info, echo, stream_in_order, describe, partial_download, free, ids_grow,
     all_types_stored, literal_tensors, inherited_error, independent_goes_on, overwritten_error,
     unknown_op, program_only, wrong_arity, wrong_attribute_count, wrong_attribute_type, wrong_result_type,
     shape_mismatch, short_data, unknown_id, freed_id, foreign_id, bad_ids, huge_shape, bad_shapes,
     not_an_instruction, not_a_stream, improper_list, bad_requests, poisoned_download, stale_stream, stale_call,
     incarnation_accepted, open_options, wrong_digest, memory_counts, close_frees, sessions_listed, import_shares,
     import_outlives, import_before_made, import_wrong_key, import_never_made, import_wrong_type,
     session_limit, sweep, forwarded_call, metrics_counted, owner_exit_frees, long_chain, large_echo,
     deep_term, cast_stream, program, program_loop, program_branch, program_reduce, program_broken, program_unknown,
     program_types, program_hook, program_callback, program_callback_fails, program_cancel, program_ends_with_owner,
     sample, sample_same, sample_data, sample_faults, sample_stops, sample_ends_with_owner].

%% run carries out one promise on a device.
run(Name, {_, Node} = D) ->
    promise(Name, D, Node),
    ok.

vector(D, Numbers) -> ?X:tensor(D, f32, {3}, Numbers).
ten() -> ?X:scalar(f32, 10.0).

%% The manager.

promise(info, {Name, _}, N) ->
    {ok, Info} = ?X:info(N),
    #{version := V, incarnation := I, digest := G, os := O, devices := Ds} = Info,
    true = is_binary(V) andalso is_integer(I) andalso I > 0 andalso is_binary(G) andalso is_binary(O),
    ?match([_], [Dev || #{server := S} = Dev <- Ds, S =:= Name]);
promise(device_info, D, _) ->
    {ok, #{index := 0, name := Name, kind := Kind, uuid := U, driver := R, memory := M, types := T, features := F}} =
        gen_server:call(D, info),
    true = is_binary(Name) andalso is_atom(Kind) andalso is_binary(U) andalso is_binary(R),
    true = is_integer(M) andalso is_list(T) andalso is_list(F);
promise(echo, _, N) ->
    Terms = [[], {}, #{}, x, 'Ünïcode', 1, -1, 1 bsl 70, -(1 bsl 70), 1.5, <<>>, <<1>>, <<5:3>>, "text", [a | b],
             self(), make_ref(), fun lists:map/2, #{a => [1, {2}], 1 => <<"x">>}, lists:seq(1, 1000),
             binary:copy(<<"0123456789">>, 10000), [binary:copy(<<7>>, 100000), {binary:copy(<<8>>, 70000)}]],
    [{ok, T} = ?X:echo(N, T) || T <- Terms];

%% Streams.

promise(stream_in_order, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    Last = lists:foldl(fun(_, Id) -> ?X:op(D, add, ?V, [Id, ten()], []) end, X, lists:seq(1, 50)),
    ?match({ok, [501.0, 502.0, 503.0]}, ?X:values(D, Last, f32));
promise(describe, D, _) ->
    X = ?X:tensor(D, u8, {2, 2}, [1, 2, 3, 4]),
    ?match({ok, {u8, {2, 2}}}, ?X:describe(D, X)),
    S = ?X:op(D, sum, {u8, {}}, [X], [[0, 1], false]),
    ?match({ok, {u8, {}}}, ?X:describe(D, S));
promise(partial_download, D, _) ->
    X = ?X:tensor(D, s16, {5}, [1, 2, 3, 4, 5]),
    ?match({ok, <<2:16/little, 3:16/little>>}, ?X:download(D, X, 1, 2)),
    ?match({ok, <<5:16/little>>}, ?X:download(D, X, 4, 100)),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, X, 6, 1));
promise(free, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
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
    Y = ?X:op(D, multiply, ?V, [{f32, {3}, ?X:encode(f32, [1.0, 2.0, 3.0])}, ten()], []),
    ?match({ok, [10.0, 20.0, 30.0]}, ?X:values(D, Y, f32));

%% Errors stay with the result.

promise(inherited_error, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    Bad = ?X:op(D, add, ?V, [X, {f32, {2}, <<0:64>>}], []),
    Next = ?X:op(D, exp, ?V, [Bad], []),
    {error, Error} = ?match({error, {bad_argument, <<"add">>, [<<"f32{3}">>, <<"f32{2}">>], _}}, ?X:download(D, Bad)),
    ?match({error, Error}, ?X:download(D, Next)),
    ?match({error, Error}, ?X:describe(D, Next));
promise(independent_goes_on, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    _ = ?X:op(D, no_such_op, ?V, [X], []),
    Y = ?X:op(D, add, ?V, [X, ten()], []),
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
    X = vector(D, [1.0, 2.0, 3.0]),
    Nothing = {[], [], [X]},
    ?match({error, {bad_argument, <<"branch">>, _, _}},
           ?X:download(D, ?X:op(D, branch, ?V, [ten()], [Nothing, Nothing])));
promise(wrong_arity, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    ?match({error, {bad_argument, <<"add">>, [<<"f32{3}">>], _}}, ?X:download(D, ?X:op(D, add, ?V, [X], []))),
    ?match({error, {bad_argument, <<"exp">>, _, _}}, ?X:download(D, ?X:op(D, exp, ?V, [X, X], [])));
promise(wrong_attribute_count, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    ?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], [[0]])));
promise(wrong_attribute_type, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    [?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], A)))
     || A <- [[0, false], [[a], false], [[0], 1], [[0], nope], [[1.5], true], [[1 bsl 80], true], [[0 | 1], true]]],
    ?match({error, {bad_argument, <<"sum">>, _, _}}, ?X:download(D, ?X:op(D, sum, {f32, {}}, [X], [[7], false]))),
    ?match({error, {bad_argument, <<"argmax">>, _, _}},
           ?X:download(D, ?X:op(D, argmax, {s32, {}}, [X], [-1, false, middle])));
promise(wrong_result_type, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
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
    X = vector(D, [1.0, 2.0, 3.0]),
    ?X:free(D, [X]),
    {error, {unknown_id, _, _, Text}} = ?X:download(D, ?X:op(D, exp, ?V, [X], [])),
    ?match({_, _}, binary:match(Text, <<"freed">>));
promise(foreign_id, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    ok = ?X:sync(D),
    ?match({error, {unknown_id, _, _, _}}, elsewhere(fun() -> ?X:download(D, X) end));
promise(bad_ids, D, _) ->
    [?match({error, {bad_request, _, _, _}}, ?X:download(D, Id)) || Id <- [0, -1, (1 bsl 60) + 1, 1 bsl 90, x, 1.0]],
    ?match({error, {bad_request, _, _, _}}, ?X:download(D, ?X:op(D, exp, ?V, [x], [])));
promise(huge_shape, D, _) ->
    [?match({error, {bad_argument, _, _, _}}, ?X:download(D, ?X:op(D, Op, {f32, Shape}, Ins, Attributes)))
     || {Op, Ins, Attributes} <- [{constant, [ten()], []}, {iota, [], [-1]}],
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
         receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 5000 -> exit({no_error_for, I}) end
     end || I <- [x, {}, {add}, {add, [], []}, 7, <<"add">>, {add, x, [], []}, {add, [{0, f32, {}}], [], []}]];
promise(not_a_stream, {Name, _} = D, _) ->
    [begin
         D ! M,
         receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 5000 -> exit({no_error_for, M}) end
     end || M <- [x, {nxvk}, {nxvk, x}, {nxvk, x, []}, {other, []}, [], <<1>>, #{}, {nxvk, [], [], []}]];
promise(improper_list, {Name, _} = D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    D ! {nxvk, [{free, [], [], [[]]} | x]},
    receive {nxvk_error, Name, {bad_request, _, _, _}} -> ok after 5000 -> exit(no_error) end,
    ?match({ok, _}, ?X:download(D, X));
promise(bad_requests, D, N) ->
    [?match({error, {bad_request, _, _, _}}, gen_server:call(D, R))
     || R <- [x, {}, {download}, {download, 1, 2}, {download, 1, -1, 1}, {open, x}, {open, #{what => 1}},
              {open, #{limit => 0}}, {open, #{label => 5}}, {open, #{sweep => yes}}, [], {at, x, sync}, {at, 1, {at, 1, sync}}]],
    [?match({error, {bad_request, _, _, _}}, gen_server:call({nxvk, N}, R)) || R <- [x, {echo}, 1, #{}]];
promise(poisoned_download, D, _) ->
    Bad = ?X:op(D, reshape, {f32, {5}}, [vector(D, [1.0, 2.0, 3.0])], []),
    ?match({error, {bad_argument, <<"reshape">>, [<<"f32{3}">>], _}}, ?X:download(D, Bad)),
    ?match({error, {bad_argument, <<"reshape">>, [<<"f32{3}">>], _}}, ?X:download(D, Bad, 0, 1));

%% Incarnations.

promise(stale_stream, D, _) ->
    Id = ?X:id(D),
    D ! {nxvk, 12345, [{iota, [{Id, s32, {3}}], [], [-1]}]},
    ?match({error, {stale, <<"iota">>, _, _}}, ?X:download(D, Id));
promise(stale_call, D, _) ->
    ?match({error, {stale, _, _, _}}, gen_server:call(D, {at, 12345, sync}));
promise(incarnation_accepted, D, _) ->
    {ok, #{incarnation := I}} = ?X:open(D, #{}),
    Id = ?X:id(D),
    D ! {nxvk, I, [{iota, [{Id, s32, {3}}], [], [-1]}]},
    ?match({ok, <<0:32/little, 1:32/little, 2:32/little>>}, gen_server:call(D, {at, I, {download, Id}}));

%% Sessions.

promise(open_options, D, _) ->
    {ok, #{key := Key, incarnation := _, session := Self}} =
        ?X:open(D, #{limit => 1000, label => <<"a test">>, sweep => false}),
    true = is_integer(Key) andalso Self =:= self(),
    ?match({ok, #{session := #{limit := 1000}}}, ?X:memory(D)),
    {ok, _} = ?X:open(D, #{limit => infinity});
promise(wrong_digest, D, N) ->
    {ok, #{digest := Digest}} = ?X:info(N),
    {ok, _} = ?X:open(D, #{digest => Digest}),
    ?match({error, {bad_argument, _, _, _}}, ?X:open(D, #{digest => <<"0123">>}));
promise(memory_counts, D, _) ->
    ?match({ok, #{session := #{buffers := 0, bytes := 0, limit := infinity}, device := #{sessions := _}}}, ?X:memory(D)),
    X = ?X:tensor(D, f64, {100}, lists:duplicate(100, 1.0)),
    Y = ?X:op(D, reshape, {f64, {10, 10}}, [X], []),
    ?match({ok, #{session := #{buffers := 2, bytes := 800}}}, ?X:memory(D)),
    ?X:free(D, [X]),
    ?match({ok, #{session := #{buffers := 1, bytes := 800}}}, ?X:memory(D)),
    ?X:free(D, [Y]),
    ?match({ok, #{session := #{buffers := 0, bytes := 0}}}, ?X:memory(D));
promise(close_frees, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    ?match(ok, ?X:close(D)),
    ?match({error, {unknown_id, _, _, _}}, ?X:download(D, X)),
    ?match({ok, #{session := #{buffers := 0}}}, ?X:memory(D));
promise(sessions_listed, D, N) ->
    {ok, _} = ?X:open(D, #{label => <<"listed">>}),
    X = ?X:tensor(D, u8, {10}, <<0:80>>),
    {ok, _} = ?X:describe(D, X),
    {ok, All} = ?X:sessions(N),
    Self = self(),
    ?match([#{label := <<"listed">>, buffers := 1, bytes := 10, limit := infinity, device := 0}],
           [S || #{pid := P} = S <- All, P =:= Self]);

%% Sharing.

promise(import_shares, D, _) ->
    {Owner, Key, Id} = owner(D),
    Y = ?X:import(D, ?V, Owner, Key, Id),
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, Y, f32)),
    ?match({ok, #{session := #{buffers := 1, bytes := 0}}}, ?X:memory(D)),
    Owner ! stop;
promise(import_outlives, D, _) ->
    {Owner, Key, Id} = owner(D),
    Y = ?X:import(D, ?V, Owner, Key, Id),
    {ok, _} = ?X:describe(D, Y),
    stop(Owner),
    ?match({ok, [2.0, 4.0, 6.0]}, ?X:values(D, ?X:op(D, add, ?V, [Y, Y], []), f32));
promise(import_before_made, D, _) ->
    {Owner, Key, Id} = owner(D),
    Y = ?X:import(D, ?V, Owner, Key, Id + 1),
    Z = ?X:op(D, add, ?V, [Y, Y], []),
    erlang:send_after(100, Owner, {make, [4.0, 5.0, 6.0]}),
    ?match({ok, [8.0, 10.0, 12.0]}, ?X:values(D, Z, f32)),
    Owner ! stop;
promise(import_wrong_key, D, _) ->
    {Owner, Key, Id} = owner(D),
    ?match({error, {not_shared, <<"import">>, _, _}}, ?X:download(D, ?X:import(D, ?V, Owner, Key + 1, Id))),
    ?match({error, {not_shared, <<"import">>, _, _}}, ?X:download(D, ?X:import(D, ?V, self(), Key, Id))),
    Owner ! stop;
promise(import_never_made, D, _) ->
    {Owner, Key, Id} = owner(D),
    Y = ?X:import(D, ?V, Owner, Key, Id + 100),
    %% Another session goes on meanwhile.
    {Micros, {ok, _}} = timer:tc(fun() -> elsewhere(fun() -> ?X:memory(D) end) end),
    true = Micros < 500000,
    ?match({error, {unknown_id, <<"import">>, _, _}}, ?X:download(D, Y)),
    Owner ! stop;
promise(import_wrong_type, D, _) ->
    {Owner, Key, Id} = owner(D),
    ?match({error, {bad_argument, <<"import">>, _, _}}, ?X:download(D, ?X:import(D, {f32, {4}}, Owner, Key, Id))),
    Owner ! stop;

%% Memory.

promise(session_limit, D, _) ->
    {ok, _} = ?X:open(D, #{limit => 1000}),
    X = ?X:tensor(D, u8, {800}, <<0:6400>>),
    Y = ?X:tensor(D, u8, {800}, <<0:6400>>),
    {error, {limit, <<"tensor">>, _, Text}} = ?X:download(D, Y),
    ?match({_, _}, binary:match(Text, <<"1000">>)),
    ?match({error, {limit, <<"add">>, _, _}},
           ?X:download(D, ?X:op(D, add, {f32, {800}}, [X, X], []))),
    ?X:free(D, [X]),
    ?match({ok, _}, ?X:download(D, ?X:tensor(D, u8, {800}, <<0:6400>>)));
promise(sweep, {Name, _} = D, _) ->
    {ok, _} = ?X:open(D, #{limit => 1000, sweep => true}),
    X = ?X:tensor(D, u8, {800}, <<0:6400>>),
    Y = ?X:tensor(D, u8, {800}, <<1:6400>>),
    receive
        {nxvk_sweep, Name, Ref} -> ?X:free(D, [X]), D ! {nxvk_swept, Ref}
    after 5000 -> exit(no_sweep)
    end,
    ?match({ok, <<1:6400>>}, ?X:download(D, Y));

%% Processes.

promise(forwarded_call, D, _) ->
    %% A session process hands the request of another process on.
    Self = self(),
    {Session, Monitor} = spawn_monitor(fun() ->
        X = vector(D, [1.0, 2.0, 3.0]),
        receive {From, Tag} -> D ! {'$gen_call', {From, Tag}, {download, X}} end,
        receive stop -> ok end
    end),
    Tag = make_ref(),
    Session ! {Self, Tag},
    receive {Tag, Reply} -> ?match({ok, <<1.0:32/float-little, _/binary>>}, Reply) after 5000 -> exit(no_reply) end,
    Session ! stop,
    receive {'DOWN', Monitor, _, _, normal} -> ok end;
promise(metrics_counted, D, N) ->
    Count = fun() ->
        {ok, #{instructions_total := M}} = ?X:metrics(N),
        lists:sum(maps:values(M))
    end,
    Before = Count(),
    X = vector(D, [1.0, 2.0, 3.0]),
    {ok, _} = ?X:download(D, X),
    true = Count() > Before;
promise(owner_exit_frees, D, N) ->
    {Owner, _, _} = owner(D),
    stop(Owner),
    gone(N, Owner, 100);
promise(long_chain, D, _) ->
    X = vector(D, [0.0, 1.0, 2.0]),
    First = ?X:id(D),
    Last = First + 999,
    ?X:stream(D, [{add, [{First, f32, {3}}], [X, ?X:scalar(f32, 1.0)], []} |
                  [{add, [{I, f32, {3}}], [I - 1, ?X:scalar(f32, 1.0)], []} || I <- lists:seq(First + 1, Last)]]),
    ?match({ok, [1000.0, 1001.0, 1002.0]}, ?X:values(D, Last, f32));
promise(large_echo, _, N) ->
    Data = random(40 bsl 20),
    ?match(true, ?X:echo(N, Data) =:= {ok, Data}),
    ?match(true, ?X:echo(N, [Data, Data]) =:= {ok, [Data, Data]});
promise(deep_term, _, N) ->
    Deep = lists:foldl(fun(_, T) -> {T} end, x, lists:seq(1, 100000)),
    case ?X:echo(N, Deep) of
        {ok, Deep} -> ok;
        {error, {bad_request, _, _, _}} -> ok
    end;
promise(cast_stream, D, _) ->
    Id = ?X:id(D),
    gen_server:cast(D, {nxvk, [{iota, [{Id, s32, {2}}], [], [-1]}]}),
    ?match({ok, <<0:32/little, 1:32/little>>}, ?X:download(D, Id));

%% Programs.

promise(program, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    Scale = {[v(1), s(2)], [{multiply, [v(3)], [1, 2], []}, {negate, [v(4)], [3], []}], [4, ten(), 1]},
    define(D, <<"scale">>, Scale),
    [begin
         [A, B, C] = run(D, <<"scale">>, [?V, {f32, {}}, ?V], [X, ?X:scalar(f32, K)]),
         ?match({ok, [K1, K2, K3]} when K1 =:= -K andalso K2 =:= -2 * K andalso K3 =:= -3 * K, ?X:values(D, A, f32)),
         ?match({ok, [10.0]}, ?X:values(D, B, f32)),
         ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, C, f32))
     end || K <- [2.0, 3.0, 4.0, 5.0]];
promise(program_loop, D, _) ->
    define(D, <<"powers">>, powers()),
    X = vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"powers">>, [?V], [X, ?X:scalar(f32, N)]),
         ?match({ok, [P, _, _]} when P =:= Want, ?X:values(D, A, f32))
     end || {N, Want} <- [{0.0, 1.0}, {1.0, 2.0}, {10.0, 1024.0}, {100.0, math:pow(2, 100)}]];
promise(program_branch, D, _) ->
    Either = {[v(1), s(2)],
              [{branch, [v(3)], [2], [{[], [{negate, [v(4)], [1], []}], [4]}, {[], [], [1]}]}], [3]},
    define(D, <<"either">>, Either),
    X = vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"either">>, [?V], [X, ?X:scalar(f32, P)]),
         ?match({ok, [F, _, _]} when F == Want, ?X:values(D, A, f32))
     end || {P, Want} <- [{1.0, -1.0}, {0.0, 1.0}, {-0.0, 1.0}, {0.5, -1.0}]];
promise(program_reduce, D, _) ->
    %% The function keeps the order: ((10 - 1) - 2) - 3.
    Minus = {[s(1), s(2)], [{subtract, [s(3)], [2, 1], []}], [3]},
    X = vector(D, [1.0, 2.0, 3.0]),
    ?match({ok, [4.0]}, ?X:values(D, ?X:op(D, reduce, {f32, {}}, [X, ten()], [[0], false, Minus]), f32)),
    Windows = ?X:op(D, window_reduce, {f32, {2}}, [X, ten()], [[2], [{0, 0}], [1], [1], Minus]),
    ?match({ok, [7.0, 5.0]}, ?X:values(D, Windows, f32));
promise(program_broken, D, _) ->
    X = vector(D, [1.0, 2.0, 3.0]),
    [begin
         Key = term_to_binary(I),
         define(D, Key, Region),
         [A] = run(D, Key, [?V], [X]),
         ?match({error, {Kind, _, _, _}} when Kind =:= bad_argument orelse Kind =:= bad_request orelse Kind =:= unknown_op,
                ?X:download(D, A))
     end || {I, Region} <- lists:enumerate(
         [nonsense, {[], [], []}, {[v(1)], [], [2]}, {[v(1)], [{add, [v(1)], [1, 1], []}], [1]},
          {[v(1)], [{add, [v(2)], [3, 1], []}], [2]}, {[v(1)], [{fly, [v(2)], [1], []}], [2]},
          {[v(1)], [{add, [{2, f32, {4}}], [1, 1], []}], [1]}, {[v(1)], [{free, [], [], [[1]]}], [1]},
          {[v(1)], [{'while', [v(2)], [1], [{[v(3)], [], [3]}, {[v(4)], [], [4]}]}], [2]},
          {[v(1)], [{'while', [v(2)], [1], [{[v(3)], [], [ten()]}, {[v(4)], [], [ten()]}]}], [2]},
          {[v(1)], [{branch, [v(2)], [ten()], [{[], [], [1]}]}], [2]}])],
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, X, f32));
promise(program_unknown, D, _) ->
    [A] = run(D, <<"never defined">>, [?V], []),
    ?match({error, {unknown_program, <<"run">>, [], _}}, ?X:download(D, A));
promise(program_types, D, _) ->
    define(D, <<"powers">>, powers()),
    X = vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"powers">>, [?V], [X]),
    ?match({error, {bad_argument, <<"run">>, [<<"f32{3}">>], _}}, ?X:download(D, A)),
    [B] = run(D, <<"powers">>, [{f64, {3}}], [X, ten()]),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, B)),
    [C] = run(D, <<"powers">>, [?V], [A, ten()]),
    ?match({error, {bad_argument, <<"run">>, [<<"f32{3}">>], _}}, ?X:download(D, C));
promise(program_hook, {Name, _} = D, _) ->
    define(D, <<"told">>, {[v(1)], [{hook, [], [1, ten()], [5]}, {negate, [v(2)], [1], []}], [2]}),
    X = vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"told">>, [?V], [X], self()),
    Data = ?X:encode(f32, [1.0, 2.0, 3.0]),
    Ten = ?X:encode(f32, [10.0]),
    receive {nxvk_hook, Name, A, 5, [{f32, {3}, Data}, {f32, {}, Ten}]} -> ok end,
    ?match({ok, [-1.0, -2.0, -3.0]}, ?X:values(D, A, f32));
promise(program_callback, {Name, _} = D, _) ->
    define(D, <<"asked">>, asked()),
    X = vector(D, [1.0, 2.0, 3.0]),
    [A] = run(D, <<"asked">>, [?V], [X], self()),
    receive
        {nxvk_callback, Name, A, Ref, 2, [{f32, {3}, Data}]} ->
            D ! {nxvk_answer, A, Ref, {ok, [?X:encode(f32, lists:reverse(?X:decode(f32, Data)))]}}
    end,
    ?match({ok, [-3.0, -2.0, -1.0]}, ?X:values(D, A, f32));
promise(program_callback_fails, {Name, _} = D, _) ->
    define(D, <<"asked">>, asked()),
    X = vector(D, [1.0, 2.0, 3.0]),
    [begin
         [A] = run(D, <<"asked">>, [?V], [X], self()),
         receive {nxvk_callback, Name, A, Ref, 2, _} -> D ! {nxvk_answer, A, Ref, Answer} end,
         ?match({error, {callback, <<"run">>, _, _}}, ?X:download(D, A))
     end || Answer <- [{error, <<"no">>}, {ok, []}, {ok, [<<1>>]}, {ok, nothing}, whatever]],
    [B] = run(D, <<"asked">>, [?V], [X]),
    ?match({error, {bad_argument, _, _, _}}, ?X:download(D, B));
promise(program_cancel, D, _) ->
    define(D, <<"forever">>, forever()),
    [A] = run(D, <<"forever">>, [{f32, {}}], []),
    %% Others go on, and so does whatever needs nothing of it.
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, vector(D, [1.0, 2.0, 3.0]), f32)),
    ok = gen_server:call(D, turn),
    {ok, [6.0]} = elsewhere(fun() -> ?X:values(D, ?X:tensor(D, f32, {1}, [6.0]), f32) end),
    ?X:stream(D, [{cancel, [], [], [[A]]}]),
    ?match({error, {cancelled, <<"run">>, _, _}}, ?X:download(D, A)),
    ?match({ok, [1.0, 2.0, 3.0]}, ?X:values(D, vector(D, [1.0, 2.0, 3.0]), f32));
promise(program_ends_with_owner, D, N) ->
    Self = self(),
    Pid = spawn(fun() -> begin_loop(D), Self ! begun, receive never -> ok end end),
    receive begun -> ok end,
    exit(Pid, kill),
    gone(N, Pid, 250);

%% Sampling.

promise(sample, {Name, _} = D, _) ->
    define(D, <<"normal">>, normal()),
    {ok, Run} = gen_server:call(D, {sample, (options())#{chains => 2, draws => 1000, chunk => 250, warmup_draws => true}}),
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
    define(D, <<"normal">>, normal()),
    [A, A, B] = [begin
                     {ok, Run} = gen_server:call(D, {sample, (options())#{seed => Seed, draws => 50}}),
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
    define(D, <<"shifted">>, Shifted),
    X = ?X:tensor(D, f64, {2}, [10.0, 10.0]),
    {ok, Run} = gen_server:call(D, {sample, (options())#{program => <<"shifted">>, data => [X]}}),
    ?X:free(D, [X]),
    {Chunks, {ok, _}} = gather(Name, Run, 0),
    Qs = ?X:decode(f64, iolist_to_binary([Q || {draws, _, Q, _} <- Chunks])),
    ?match(M when abs(M - 10) < 0.3, lists:sum(Qs) / length(Qs));
promise(sample_faults, {Name, _} = D, _) ->
    define(D, <<"normal">>, normal()),
    [?match({error, {K, _, _, _}} when K =:= Kind, gen_server:call(D, {sample, Options}))
     || {Kind, Options} <- [{bad_request, nothing}, {bad_request, #{}}, {bad_request, (options())#{dim => 0}},
                            {bad_request, (options())#{chains => 0}}, {bad_request, (options())#{fly => 1}},
                            {bad_request, (options())#{init => <<1>>}}, {bad_request, (options())#{init => <<0:64>>}},
                            {bad_request, (options())#{type => s32}}, {bad_request, (options())#{seed => x}},
                            {bad_argument, (options())#{dim => 3}}, {bad_argument, (options())#{data => [ten()]}},
                            {bad_argument, (options())#{target => 2.0}}, {bad_argument, (options())#{step => -1.0}},
                            {bad_argument, (options())#{metric => <<0:128>>}}, {bad_argument, (options())#{type => f32}},
                            {unknown_program, (options())#{program => <<"none">>}}]],
    Nowhere = {[{1, f64, {2}}], [], [?X:scalar(f64, neg_infinity), 1]},
    define(D, <<"nowhere">>, Nowhere),
    {ok, Run} = gen_server:call(D, {sample, (options())#{program => <<"nowhere">>}}),
    ?match({[], {error, {bad_argument, _, _, _}}}, gather(Name, Run, 0));
promise(sample_stops, {Name, _} = D, _) ->
    define(D, <<"normal">>, normal()),
    {ok, Run} = gen_server:call(D, {sample, (options())#{draws => 1000000000}}),
    receive {nxvk_draws, Name, Run, 0, draws, _, _, _} -> ok end,
    ok = gen_server:call(D, {stop, Run}),
    ?match({_, {error, {cancelled, _, _, _}}}, gather(Name, Run, 0)),
    ?match({error, {bad_argument, _, _, _}}, gen_server:call(D, {stop, Run}));
promise(sample_ends_with_owner, D, N) ->
    Self = self(),
    Pid = spawn(fun() -> begin_chains(D), Self ! begun, receive never -> ok end end),
    receive begun -> ok end,
    exit(Pid, kill),
    gone(N, Pid, 250).

%% begin_loop begins a run without an end, and gives its result's id once it is
%% under way.
begin_loop(D) ->
    define(D, <<"forever">>, forever()),
    [Id] = run(D, <<"forever">>, [{f32, {}}], []),
    ok = gen_server:call(D, turn),
    Id.

%% begin_chains begins chains that draw without an end, and gives their number
%% once draws come.
begin_chains({Name, _} = D) ->
    define(D, <<"normal">>, normal()),
    {ok, Run} = gen_server:call(D, {sample, (options())#{chains => 2, draws => 1000000000}}),
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

v(Id) -> {Id, f32, {3}}.
s(Id) -> {Id, f32, {}}.

define(D, Key, Region) -> ?X:stream(D, [{program, [], [], [Key, Region]}]).

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
    {[], [{'while', [s(1)], [ten()], [{[s(2)], [], [ten()]}, {[s(3)], [{add, [s(4)], [3, 3], []}], [4]}]}], [1]}.

%% elsewhere runs a function in a process of its own.
elsewhere(F) ->
    {_, Ref} = spawn_monitor(fun() -> exit({value, F()}) end),
    receive {'DOWN', Ref, _, _, {value, V}} -> V end.

%% owner is a process with a value that others may import.
owner(D) ->
    Self = self(),
    Pid = spawn(fun() ->
        {ok, #{key := Key}} = ?X:open(D, #{}),
        Id = vector(D, [1.0, 2.0, 3.0]),
        ok = ?X:sync(D),
        Self ! {self(), Key, Id},
        own(D)
    end),
    receive {Pid, Key, Id} -> {Pid, Key, Id} end.

own(D) ->
    receive
        {make, Numbers} -> vector(D, Numbers), own(D);
        stop -> ok
    end.

stop(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% gone waits until a process has no session.
gone(_, Pid, 0) -> exit({still_there, Pid});
gone(N, Pid, Tries) ->
    {ok, All} = ?X:sessions(N),
    case [S || #{pid := P} = S <- All, P =:= Pid] of
        [] -> ok;
        _ -> timer:sleep(20), gone(N, Pid, Tries - 1)
    end.

%% random is bytes that do not repeat, of a size that is a multiple
%% of 8.
random(Size) ->
    {B, _} = rand:bytes_s(Size, rand:seed_s(exsss, 1)),
    B.
