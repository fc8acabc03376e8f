%% The clients of the benchmark of shares: sessions that compute without pause, and
%% one that adds a little and reads it now and then.
%%
%%     erl … -s share client NODE HOGS SECONDS    measures, a line for each number
-module(share).

-export([client/1]).

client([Node, Hogs, Seconds]) ->
    spawn(fun end_with_launcher/0),
    Server = {nxvk_0, Node},
    {ok, #{name := Name}} = gen_server:call(Server, info),
    io:format("device ~s~n", [Name]),
    [measure(Server, Kind, list_to_integer(atom_to_list(Hogs)), list_to_integer(atom_to_list(Seconds)))
     || Kind <- [none, product, sort, factor, pointwise, transform, mixed]],
    halt(0).

end_with_launcher() ->
    case io:get_line("") of
        eof -> halt(0);
        _ -> end_with_launcher()
    end.

measure(Server, Kind, Count, Seconds) ->
    Self = self(),
    Hogs = [spawn_link(fun() -> hog(Server, kind(Kind, I), Self) end) || Kind =/= none, I <- lists:seq(1, Count)],
    [receive {begun, H} -> ok after 120000 -> exit({no_answer, Kind}) end || H <- Hogs],
    End = erlang:monotonic_time(millisecond) + Seconds * 1000,
    [H ! {stop_at, End} || H <- Hogs],
    Reads = lists:sort(reads(Server, End, [])),
    Done = [receive {done, H, N} -> N after 120000 -> exit({no_end, Kind}) end || H <- Hogs],
    Share = case Done of
        [] -> "";
        _ -> io_lib:format("; rounds of each ~w to ~w, in all ~w", [lists:min(Done), lists:max(Done), lists:sum(Done)])
    end,
    io:format("beside ~w x ~w: a read takes ~.2f ms, 99 of 100 within ~.2f, at most ~.2f (~w reads)~s~n",
              [length(Hogs), Kind, at(Reads, 0.5), at(Reads, 0.99), lists:last(Reads), length(Reads), Share]).

at(Sorted, P) -> lists:nth(max(1, ceil(P * length(Sorted))), Sorted).

kind(mixed, I) -> lists:nth(1 + I rem 5, [product, sort, factor, pointwise, transform]);
kind(Kind, _) -> Kind.

reads(Server, End, Acc) ->
    case erlang:monotonic_time(millisecond) >= End of
        true -> Acc;
        false ->
            T = erlang:monotonic_time(microsecond),
            Server ! {nxvk, [{iota, [{1, f32, {1024}}], [], [-1]}, {add, [{2, f32, {1024}}], [1, 1], []}]},
            {ok, _} = gen_server:call(Server, {download, 2}, infinity),
            D = (erlang:monotonic_time(microsecond) - T) / 1000,
            receive after 5 -> ok end,
            reads(Server, End, [D | Acc])
    end.

%% hog runs rounds of work, one of which is always on its way while another is read.
hog(Server, Kind, Parent) ->
    Server ! {nxvk, prepare(Kind)},
    Server ! {nxvk, work(Kind)},
    ok = gen_server:call(Server, sync, infinity),
    Parent ! {begun, self()},
    receive {stop_at, End} -> ok end,
    N = rounds(Server, Kind, End, 0),
    Parent ! {done, self(), N},
    ok = gen_server:call(Server, close, infinity).

rounds(Server, Kind, End, N) ->
    case erlang:monotonic_time(millisecond) >= End of
        true -> N;
        false ->
            Server ! {nxvk, work(Kind)},
            ok = gen_server:call(Server, sync, infinity),
            rounds(Server, Kind, End, N + 1)
    end.

prepare(product) -> square(f64, 384);
prepare(factor) -> square(f32, 96);
prepare(sort) -> line(f32, 1 bsl 19);
prepare(pointwise) -> line(f32, 1 bsl 20);
prepare(transform) -> line(c64, 1 bsl 17).

square(T, N) -> [{iota, [{1, T, {N, N}}], [], [-1]}, {sin, [{2, T, {N, N}}], [1], []}].
line(T, N) -> [{iota, [{1, T, {N}}], [], [-1]}, {sin, [{2, T, {N}}], [1], []}].

work(product) -> [{dot, [{3, f64, {384, 384}}], [2, 2], [[1], [], [0], []]}];
work(factor) -> [{svd, [{3, f32, {96, 96}}, {4, f32, {96}}, {5, f32, {96, 96}}], [2], [true]}];
work(sort) -> [{sort, [{3, f32, {1 bsl 19}}], [2], [0, asc, false]}];
work(pointwise) ->
    [{exp, [{3, f32, {1 bsl 20}}], [2], []}] ++
    lists:append([[{multiply, [{4, f32, {1 bsl 20}}], [3, 2], []}, {tanh, [{3, f32, {1 bsl 20}}], [4], []}] || _ <- lists:seq(1, 10)]);
work(transform) -> [{fft, [{3, c64, {1 bsl 17}}], [2], [1 bsl 17, 0, 0.0]}].
