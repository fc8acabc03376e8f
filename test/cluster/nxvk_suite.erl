%% The promises of gen/README.md, one function a promise. Each runs in a process
%% of its own, so in a session of its own.
-module(nxvk_suite).

-export([names/0, run/2]).

-define(TOPICS, [nxvk_messages, nxvk_sessions, nxvk_programs, nxvk_sampling]).

names() -> lists:append([Topic:names() || Topic <- ?TOPICS]).

%% run carries out one promise on a device.
run(Name, {_, Node} = D) ->
    [Topic] = [T || T <- ?TOPICS, lists:member(Name, T:names())],
    Topic:promise(Name, D, Node),
    ok.
