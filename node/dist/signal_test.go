package dist

import (
	"testing"
)

// TestMonitored has Erlang monitor processes here.
func TestMonitored(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`
			Down = fun(R) -> receive {'DOWN',R,process,W,Why} -> {W,Why} after 300000 -> timeout end end,
			io:format("~p~n",[element(2,Down(monitor(process,{nobody,N})))]),
			P = gen_server:call({echo,N},{pid,x}),
			R0 = monitor(process,P), demonitor(R0),
			R1 = monitor(process,P), R2 = monitor(process,{echo,N}), R3 = monitor(process,P),
			{echo,N} ! stop,
			io:format("~p~n",[{Down(R1) =:= {P,shutdown}, Down(R2), Down(R3) =:= {P,shutdown}}]),
			io:format("~p~n",[element(2,Down(monitor(process,P)))]),
			receive X -> io:format("~p~n",[X]) after 100 -> io:format("none~n") end`)
		b.expect("noproc")
		b.expect("{true,{{echo,'" + string(c.node.Name()) + "'},shutdown},true}")
		b.expect("noproc")
		b.expect("none")
	})
}

// TestMonitors has a process here monitor Erlang's, in both ways there are.
func TestMonitors(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`
			Call = fun(R) -> gen_server:call({echo,N},R) end,
			Try = fun(How, Reason) ->
				P = spawn(fun() -> receive R -> exit(R) end end),
				ok = Call({How,P}), P ! Reason,
				receive {down,P,W} -> W after 300000 -> timeout end end,
			io:format("~p~n",[[Try(H,R) || H <- [monitor,ergo_monitor], R <- [normal,{a,1},shutdown]]]),
			Dead = fun() -> {P,M} = spawn_monitor(fun() -> ok end), receive {'DOWN',M,_,_,_} -> P end end,
			Gone = Dead(), ok = Call({monitor,Gone}), receive {down,Gone,W1} -> io:format("~p~n",[W1]) end,
			Gone2 = Dead(), ok = Call({ergo_monitor,Gone2}), receive {down,Gone2,W2} -> io:format("~p~n",[W2]) end,
			P3 = spawn(fun() -> receive stop -> ok end end),
			ok = Call({monitor,P3}), ok = Call({demonitor,P3}), P3 ! stop,
			receive X -> io:format("~p~n",[X]) after 200 -> io:format("none~n") end`)
		b.expect("[normal,{a,1},shutdown,normal,{a,1},shutdown]")
		b.expect("noproc")
		b.expect("noproc")
		b.expect("none")
	})
}

// TestMonitorNodeDown kills the BEAM whose processes are monitored.
func TestMonitorNodeDown(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		watcher := c.start(`gen_server:call({echo,N},{boss,x}), io:format("ready~n"),
			Loop = fun(L) -> receive {down,_,W} -> io:format("~p~n",[W]), L(L) end end, Loop(Loop)`)
		watcher.expect("ready")
		victim := c.start(`[gen_server:call({echo,N},{H,self()}) || H <- [monitor,ergo_monitor]],
			{echo,N} ! x, receive _ -> ok end, io:format("ready~n"), timer:sleep(60000)`)
		victim.expect("ready")
		watcher2 := c.start(`gen_server:call({echo,N},{boss,x}), io:format("ready~n"),
			Loop = fun(L) -> receive {down,_,W} -> io:format("~p~n",[W]), L(L) end end, Loop(Loop)`)
		watcher2.expect("ready")
		victim.kill()
		watcher2.expect("noconnection")
		watcher2.expect("noconnection")
	})
}

func TestLinks(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`
			process_flag(trap_exit,true),
			Call = fun(R) -> gen_server:call({echo,N},R) end,
			E = Call({pid,x}), Call({boss,x}),
			Exit = fun(P) -> receive {exit,P,W} -> W after 300000 -> timeout end end,
			%% A process of ours links to the server, which knows before it has answered, and ends.
			A = spawn(fun() -> link(E), E = Call({pid,x}), exit({bad,1}) end),
			io:format("~p~n",[Exit(A)]),
			%% One unlinks before it ends.
			spawn(fun() -> link(E), unlink(E), E = Call({pid,x}), exit(oops) end),
			receive X -> io:format("~p~n",[X]) after 200 -> io:format("none~n") end,
			%% The server links to a process of ours.
			C = spawn(fun() -> receive R -> exit(R) end end), ok = Call({link,C}), C ! why,
			io:format("~p~n",[Exit(C)]),
			D = spawn(fun() -> receive R -> exit(R) end end), ok = Call({link,D}), ok = Call({unlink,D}), D ! why,
			receive Y -> io:format("~p~n",[Y]) after 200 -> io:format("none~n") end,
			%% exit/2 in both directions.
			exit(E, {told,you}), io:format("~p~n",[receive {exit,P,W} -> {P =:= self(),W} after 300000 -> timeout end]),
			F = spawn(fun() -> timer:sleep(60000) end), M = monitor(process,F), ok = Call({exit,F}),
			receive {'DOWN',M,_,_,W3} -> io:format("~p~n",[W3]) end,
			%% The server ends while we are linked.
			link(E), {echo,N} ! stop, receive {'EXIT',E,W4} -> io:format("~p~n",[W4]) end,
			link(E), receive {'EXIT',E,W5} -> io:format("~p~n",[W5]) end`)
		for _, want := range []string{"{bad,1}", "none", "why", "none", "{true,{told,you}}", "killed", "shutdown", "noproc"} {
			b.expect(want)
		}
	})
}

// TestSpawnRefused asks for a process here in all the ways that Erlang has.
func TestSpawnRefused(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`net_adm:ping(N),
			R = spawn_request(N,erlang,self,[]), receive {spawn_reply,R,error,W} -> io:format("~p~n",[W]) end,
			io:format("~p~n",[catch rpc:call(N,erlang,self,[])]), io:format("~p~n",[net_adm:ping(N)])`)
		b.expect("notsup")
		b.line()
		b.expect("pong")
	})
}
