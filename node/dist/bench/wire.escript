#!/usr/bin/env escript
%% -*- erlang -*-
%% The BEAM's side of the wire benchmark.
%%
%%   wire.escript server NAME COOKIE         serves what bench.Actor serves
%%   wire.escript client NAME COOKIE NODE... measures each node and prints
%%                                           one line for each number:
%%                                           NODE WHAT VALUE UNIT
-mode(compile).

main(["server", Name, Cookie]) ->
    start(Name, Cookie),
    register(wire, self()),
    io:format("ready~n"),
    serve(#{}, 0);
main(["client", Name, Cookie | Nodes]) ->
    start(Name, Cookie),
    [measure(list_to_atom(N)) || N <- Nodes],
    halt(0).

start(Name, Cookie) ->
    {ok, _} = net_kernel:start([list_to_atom(Name), longnames]),
    erlang:set_cookie(node(), list_to_atom(Cookie)).

serve(Made, Casts) ->
    receive
        {'$gen_call', From, {echo, X}} ->
            gen:reply(From, X), serve(Made, Casts);
        {'$gen_call', From, {put, B}} ->
            gen:reply(From, byte_size(B)), serve(Made, Casts);
        {'$gen_call', From, {get, N}} ->
            B = case Made of #{N := B0} -> B0; _ -> binary:copy(<<7>>, N) end,
            gen:reply(From, B), serve(Made#{N => B}, Casts);
        {'$gen_call', From, {casts, _}} ->
            gen:reply(From, Casts), serve(Made, 0);
        {'$gen_cast', _} ->
            serve(Made, Casts + 1)
    end.

measure(Node) ->
    pong = net_adm:ping(Node),
    Call = fun(R) -> gen_server:call({wire, Node}, R, infinity) end,
    times(2000, fun() -> Call({echo, x}) end),
    show(Node, "call", median(times(5000, fun() -> Call({echo, x}) end)) / 1000, "us"),
    casts(Node, Call),
    show(Node, "cast", lists:min([casts(Node, Call) || _ <- lists:seq(1, 5)]) / 100000 / 1000, "us"),
    [bulk(Node, Call, MB) || MB <- [1, 16, 64]].

casts(Node, Call) ->
    hd(times(1, fun() ->
        [gen_server:cast({wire, Node}, {add, I, [1, 2]}) || I <- lists:seq(1, 100000)],
        100000 = Call({casts, x})
    end)).

bulk(Node, Call, MB) ->
    Size = MB bsl 20,
    Count = max(10, 256 div MB),
    B = binary:copy(<<5>>, Size),
    Rate = fun(Ts) -> Size / median(tl(Ts)) end,
    Up = times(Count, fun() -> Size = Call({put, B}) end),
    show(Node, "upload " ++ integer_to_list(MB) ++ " MB", Rate(Up), "GB/s"),
    Down = times(Count, fun() -> Size = byte_size(Call({get, Size})), erlang:garbage_collect() end),
    show(Node, "download " ++ integer_to_list(MB) ++ " MB", Rate(Down), "GB/s").

times(Count, F) ->
    [begin
         T = erlang:monotonic_time(nanosecond), F(),
         erlang:monotonic_time(nanosecond) - T
     end || _ <- lists:seq(1, Count)].

median(L) -> lists:nth((length(L) + 1) div 2, lists:sort(L)).

show(Node, What, Value, Unit) ->
    io:format("~s\t~s\t~.3f\t~s~n", [Node, What, Value, Unit]).
