%% Functions that several topics of nxvk_suite share.
-module(nxvk_case).

-export([vector/2, ten/0, define/3, elsewhere/1, gone/2]).

-define(X, nxvk_client).

vector(D, Numbers) -> ?X:tensor(D, f32, {3}, Numbers).
ten() -> ?X:scalar(f32, 10.0).

define(D, Key, Region) -> ?X:stream(D, [{program, [], [], [Key, Region]}]).

%% elsewhere runs a function in a process of its own.
elsewhere(F) ->
    {_, Ref} = spawn_monitor(fun() -> exit({value, F()}) end),
    receive {'DOWN', Ref, _, _, {value, V}} -> V end.

%% gone waits until a process has no session.
gone(Node, Pid) -> nxvk_load:gone(Node, fun(#{pid := P}) -> P =:= Pid end).
