%% The BEAM's end of the cluster tests: it reads calls from standard input, one
%% `{Module, Function, Arguments}.' a line, carries each out in a process of its
%% own, and answers with one line:
%%
%%     ::value TERM       what the function returned
%%     ::fail TEXT        why it did not return
-module(nxvk_driver).

-export([main/0]).

main() ->
    io:setopts([{encoding, unicode}]),
    %% A test that floods the log must not hide the answers.
    logger:set_primary_config(level, error),
    answer("value", "~0tp", [{ready, node(), erlang:system_info(otp_release)}]),
    loop().

loop() ->
    case io:get_line("") of
        Line when is_list(Line) -> command(Line), loop();
        _ -> halt(0)
    end.

command(Line) ->
    {ok, Tokens, _} = erl_scan:string(Line),
    {ok, {Module, Function, Arguments}} = erl_parse:parse_term(Tokens),
    {_, Ref} = spawn_monitor(fun() -> exit({value, apply(Module, Function, Arguments)}) end),
    receive
        {'DOWN', Ref, _, _, {value, Value}} -> answer("value", "~0tp", [Value]);
        {'DOWN', Ref, _, _, Reason} -> answer("fail", "~0tP", [Reason, 60])
    end.

answer(Verdict, Format, Arguments) ->
    io:put_chars(["::", Verdict, " ", io_lib:format(Format, Arguments), "\n"]).
