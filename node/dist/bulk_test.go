package dist

import (
	"fmt"
	"testing"
)

// TestBinaries sends large binaries both ways and compares their hashes.
func TestBinaries(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`
			Up = fun(Size) -> B = crypto:strong_rand_bytes(Size),
				gen_server:call({echo,N},{hash,B},infinity) =:= erlang:md5(B) end,
			Down = fun(Size) -> B = gen_server:call({echo,N},{make,Size},infinity),
				byte_size(B) =:= Size andalso gen_server:call({echo,N},{hash,B},infinity) =:= erlang:md5(B) end,
			Both = fun(Size) -> B = crypto:strong_rand_bytes(Size),
				gen_server:call({echo,N},{echo,B},infinity) =:= B end,
			Sizes = [1000, 16#3fff, 16#4000, 16#ffff, 16#10000, 16#10001, 1000000, 16#80000, 16#100000, 16777216],
			io:format("~p~n",[[Size || F <- [Up,Down,Both], Size <- Sizes, not F(Size)]]),
			Par = [spawn_monitor(fun() -> true = Both(3000000 + I), true = Up(100000 * I), true = Both(I) end) || I <- lists:seq(1,30)],
			io:format("~p~n",[[R || {P,M} <- Par, receive {'DOWN',M,process,P,R} -> R =/= normal end]]),
			Mixed = {<<1:800000>>, [<<X:800000>> || X <- lists:seq(1,20)], #{a => <<2:900000>>}, <<3:8000>>},
			io:format("~p~n",[gen_server:call({echo,N},{echo,Mixed}) =:= Mixed])`)
		b.expect("[]")
		b.expect("[]")
		b.expect("true")
	})
}

// TestHugeBinary goes up to a gibibyte, unless the tests are to be short.
func TestHugeBinary(t *testing.T) {
	size := 1 << 30
	if testing.Short() {
		size = 128 << 20
	}
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(fmt.Sprintf(`
			B = binary:copy(crypto:strong_rand_bytes(1 bsl 20), %d bsr 20),
			H = gen_server:call({echo,N},{hash,B},infinity),
			io:format("~p~n",[H =:= erlang:md5(B)]),
			E = gen_server:call({echo,N},{echo,B},infinity),
			io:format("~p~n",[E =:= B])`, size))
		b.expect("true")
		b.expect("true")
	})
}

// TestTerms echoes terms that are deep, wide, and full of atoms.
func TestTerms(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`
			Echo = fun(T) -> gen_server:call({echo,N},{echo,T},infinity) =:= T end,
			Deep = lists:foldl(fun(_,A) -> [A] end, [], lists:seq(1,1000000)),
			io:format("~p~n",[Echo(Deep)]),
			io:format("~p~n",[Echo(lists:seq(1,1000000))]),
			Atoms = [list_to_atom("atom_" ++ integer_to_list(I)) || I <- lists:seq(1,5000)],
			io:format("~p~n",[lists:all(Echo, [lists:sublist(Atoms,I,200) || I <- lists:seq(1,4800,50)])]),
			Long = [list_to_atom(lists:duplicate(250,16#f8) ++ integer_to_list(I)) || I <- lists:seq(1,300)],
			io:format("~p~n",[Echo(Long) andalso Echo(Long) andalso Echo(Atoms)]),
			F = fun(X) -> X + 1 end,
			io:format("~p~n",[Echo([F, fun lists:map/2, make_ref(), self(), hd(erlang:ports()), fun(Y) -> F(Y) end, 1 bsl 300, -1.5, <<5:3>>, "string", 'ø'])])`)
		for range 5 {
			b.expect("true")
		}
	})
}
