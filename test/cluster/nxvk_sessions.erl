%% Sessions: what they have, share and lose, and who they belong to.
-module(nxvk_sessions).

-export([names/0, promise/3]).

-include("nxvk_case.hrl").

names() ->
    [open_options, wrong_digest, memory_counts, close_frees, sessions_listed, import_shares, import_outlives,
     import_before_made, import_wrong_key, import_never_made, import_wrong_type, session_limit, sweep,
     forwarded_call, metrics_counted, owner_exit_frees, long_chain, large_echo, deep_term, cast_stream].

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
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
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
    {Micros, {ok, _}} = timer:tc(fun() -> ?C:elsewhere(fun() -> ?X:memory(D) end) end),
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
    after 300000 -> exit(no_sweep)
    end,
    ?match({ok, <<1:6400>>}, ?X:download(D, Y));

%% Processes.

promise(forwarded_call, D, _) ->
    %% A session process hands the request of another process on.
    Self = self(),
    {Session, Monitor} = spawn_monitor(fun() ->
        X = ?C:vector(D, [1.0, 2.0, 3.0]),
        receive {From, Tag} -> D ! {'$gen_call', {From, Tag}, {download, X}} end,
        receive stop -> ok end
    end),
    Tag = make_ref(),
    Session ! {Self, Tag},
    receive {Tag, Reply} -> ?match({ok, <<1.0:32/float-little, _/binary>>}, Reply) after 300000 -> exit(no_reply) end,
    Session ! stop,
    receive {'DOWN', Monitor, _, _, normal} -> ok end;
promise(metrics_counted, D, N) ->
    Count = fun() ->
        {ok, #{instructions_total := M}} = ?X:metrics(N),
        lists:sum(maps:values(M))
    end,
    Before = Count(),
    X = ?C:vector(D, [1.0, 2.0, 3.0]),
    {ok, _} = ?X:download(D, X),
    true = Count() > Before;
promise(owner_exit_frees, D, N) ->
    {Owner, _, _} = owner(D),
    stop(Owner),
    ?C:gone(N, Owner);
promise(long_chain, D, _) ->
    X = ?C:vector(D, [0.0, 1.0, 2.0]),
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
    ?match({ok, <<0:32/little, 1:32/little>>}, ?X:download(D, Id)).

%% owner is a process with a value that others may import.
owner(D) ->
    Self = self(),
    Pid = spawn(fun() ->
        {ok, #{key := Key}} = ?X:open(D, #{}),
        Id = ?C:vector(D, [1.0, 2.0, 3.0]),
        ok = ?X:sync(D),
        Self ! {self(), Key, Id},
        own(D)
    end),
    receive {Pid, Key, Id} -> {Pid, Key, Id} end.

own(D) ->
    receive
        {make, Numbers} -> ?C:vector(D, Numbers), own(D);
        stop -> ok
    end.

stop(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% random is bytes that do not repeat, of a size that is a multiple
%% of 8.
random(Size) ->
    {B, _} = rand:bytes_s(Size, rand:seed_s(exsss, 1)),
    B.
