%% A client of nxvk-node in plain Erlang, written from gen/README.md.
%%
%% A device is `{nxvk_0, Node}', the address of its server. Values belong to
%% the process that makes them; an id means nothing to any other process.
%%
%%     ok = nxvk_client:connect('nxvk@127.0.0.1'),
%%     D = nxvk_client:device('nxvk@127.0.0.1', 0),
%%     X = nxvk_client:tensor(D, f32, {3}, [1.0, 2.0, 3.0]),
%%     Y = nxvk_client:op(D, add, {f32, {3}}, [X, nxvk_client:scalar(f32, 10.0)], []),
%%     {ok, [11.0, 12.0, 13.0]} = nxvk_client:values(D, Y, f32).
-module(nxvk_client).

-export([connect/1, device/2, call/2, info/1, sessions/1, metrics/1, echo/2]).
-export([open/2, close/1, sync/1, memory/1, describe/2]).
-export([stream/2, tensor/4, op/5, scalar/2, free/2, import/5, id/1]).
-export([download/2, download/4, values/3]).
-export([encode/2, decode/2]).

-define(TIMEOUT, 600000).

%% The node.

%% connect joins the cluster that Node is in.
connect(Node) ->
    case net_kernel:connect_node(Node) of
        true -> ok;
        _ -> {error, {cannot_connect, Node}}
    end.

%% device is the address of the server of a node's device.
device(Node, Index) -> {list_to_atom("nxvk_" ++ integer_to_list(Index)), Node}.

%% call asks a server and waits for the answer.
call(Server, Request) -> gen_server:call(Server, Request, ?TIMEOUT).

info(Node) -> call({nxvk, Node}, info).
sessions(Node) -> call({nxvk, Node}, sessions).
metrics(Node) -> call({nxvk, Node}, metrics).
echo(Node, Term) -> call({nxvk, Node}, {echo, Term}).

%% The session of this process.

open(Device, Options) -> call(Device, {open, Options}).
close(Device) -> call(Device, close).
sync(Device) -> call(Device, sync).
memory(Device) -> call(Device, memory).
describe(Device, Id) -> call(Device, {describe, Id}).

%% Instructions. None of these waits: an error stays with the result and comes
%% with whatever reads it.

%% stream sends instructions as they are.
stream(Device, Instructions) ->
    Device ! {nxvk, Instructions},
    ok.

%% tensor uploads a value: a binary of the protocol's form, or a list of
%% numbers.
tensor(Device, Type, Shape, Numbers) when is_list(Numbers) ->
    tensor(Device, Type, Shape, encode(Type, Numbers));
tensor(Device, Type, Shape, Data) ->
    Id = id(Device),
    stream(Device, [{tensor, [{Id, Type, Shape}], [{Type, Shape, Data}], []}]),
    Id.

%% op computes. Operands are ids and what scalar/2 gives.
op(Device, Op, {Type, Shape}, Operands, Attributes) ->
    Id = id(Device),
    stream(Device, [{Op, [{Id, Type, Shape}], Operands, Attributes}]),
    Id.

%% scalar is an operand that travels inside the instruction.
scalar(Type, Number) -> {Type, encode(Type, [Number])}.

%% free lets go of values.
free(Device, Ids) -> stream(Device, [{free, [], [], [Ids]}]).

%% import makes a value of another session this one's too. Pid and Key are what
%% open/2 returned there.
import(Device, {Type, Shape}, Pid, Key, TheirId) ->
    Id = id(Device),
    stream(Device, [{import, [{Id, Type, Shape}], [{shared, Pid, Key, TheirId}], []}]),
    Id.

%% id is an id that this process has not used on the device.
id(Device) ->
    Id = case get({?MODULE, Device}) of undefined -> 1; Last -> Last + 1 end,
    put({?MODULE, Device}, Id),
    Id.

%% Reading.

download(Device, Id) -> call(Device, {download, Id}).
download(Device, Id, Offset, Count) -> call(Device, {download, Id, Offset, Count}).

%% values downloads numbers.
values(Device, Id, Type) ->
    case download(Device, Id) of
        {ok, Data} -> {ok, decode(Type, Data)};
        Error -> Error
    end.

%% Numbers. A float that Erlang does not have is nan, infinity or
%% neg_infinity; a complex number is {Real, Imaginary}.

encode(Type, Numbers) -> << <<(element_bytes(Type, N))/binary>> || N <- Numbers >>.

decode(_, <<>>) -> [];
decode(Type, Data) ->
    Size = size_of(Type),
    <<Element:Size/binary, Rest/binary>> = Data,
    [number(Type, Element) | decode(Type, Rest)].

size_of(c128) -> 16;
size_of(c64) -> 8;
size_of(Type) -> (bits(Type) + 7) div 8.

bits(bf16) -> 16;
bits(f8_e4m3fn) -> 8;
bits(Type) -> list_to_integer(tl(atom_to_list(Type))).

element_bytes(c64, {Re, Im}) -> <<(encode(f32, [Re, Im]))/binary>>;
element_bytes(c128, {Re, Im}) -> <<(encode(f64, [Re, Im]))/binary>>;
element_bytes(bf16, N) -> <<_:16, High:2/binary>> = element_bytes(f32, N), High;
element_bytes(f8, N) -> <<_:8, High:1/binary>> = element_bytes(f16, N), High;
element_bytes(f16, N) -> float_bytes(16, 5, N);
element_bytes(f32, N) -> float_bytes(32, 8, N);
element_bytes(f64, N) -> float_bytes(64, 11, N);
element_bytes(Type, N) when is_integer(N) ->
    Bits = 8 * size_of(Type),
    <<N:Bits/little>>.

float_bytes(Bits, Exponent, Special) when is_atom(Special) ->
    Mantissa = Bits - 1 - Exponent,
    {Sign, M} = case Special of
        infinity -> {0, 0};
        neg_infinity -> {1, 0};
        nan -> {0, 1 bsl (Mantissa - 1)}
    end,
    <<Big:Bits>> = <<Sign:1, -1:Exponent, M:Mantissa>>,
    <<Big:Bits/little>>;
float_bytes(Bits, _, N) -> <<N:Bits/float-little>>.

number(c64, <<Re:4/binary, Im:4/binary>>) -> {number(f32, Re), number(f32, Im)};
number(c128, <<Re:8/binary, Im:8/binary>>) -> {number(f64, Re), number(f64, Im)};
number(bf16, High) -> number(f32, <<0:16, High/binary>>);
number(f8, High) -> number(f16, <<0:8, High/binary>>);
number(f16, B) -> float_number(16, 5, B);
number(f32, B) -> float_number(32, 8, B);
number(f64, B) -> float_number(64, 11, B);
number(Type, B) ->
    Bits = bits(Type),
    Stored = byte_size(B) * 8,
    <<N:Stored/little>> = B,
    case atom_to_list(Type) of
        [$s | _] -> <<Signed:Bits/signed>> = <<N:Bits>>, Signed;
        _ -> N
    end.

float_number(Bits, Exponent, B) ->
    case B of
        <<N:Bits/float-little>> ->
            N;
        <<N:Bits/little>> ->
            Mantissa = Bits - 1 - Exponent,
            case <<N:Bits>> of
                <<0:1, _:Exponent, 0:Mantissa>> -> infinity;
                <<1:1, _:Exponent, 0:Mantissa>> -> neg_infinity;
                _ -> nan
            end
    end.
