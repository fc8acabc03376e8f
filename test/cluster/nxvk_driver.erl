%% The BEAM's end of the cluster tests: it reads calls from standard input, one
%% `{Module, Function, Arguments}.' a line, carries each out in a process of its
%% own, and answers with one line:
%%
%%     ::value TERM       what the function returned
%%     ::fail TEXT        why it did not return
-module(nxvk_driver).

-export([main/0, shell/1]).

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

%% shell carries out what one types into an Erlang shell. Each input comes with
%% what the page says the shell prints, in which `...' stands for anything; an
%% empty text says nothing.
shell(Inputs) ->
    lists:foldl(fun({Input, Printed}, Bindings) ->
        {value, Value, Next} = erl_eval:exprs(expressions(Input), Bindings),
        matches(Printed, Value) orelse exit({Input, printed, Printed, got, Value}),
        Next
    end, [], Inputs),
    ok.

matches("", _) -> true;
matches(Printed, Value) ->
    Pattern = lists:foldl(fun({From, To}, Text) -> re:replace(Text, From, To, [global, {return, list}]) end,
                          Printed, [{"#\\{\\.\\.\\.\\}", "_"}, {"=>", ":="}]),
    try erl_eval:exprs(expressions(Pattern ++ " = Value."), [{'Value', Value}]) of
        _ -> true
    catch error:{badmatch, _} -> false
    end.

expressions(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    Expressions.
