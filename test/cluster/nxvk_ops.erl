%% The operations and what they give: at least one case for each that the node
%% computes. Expected numbers are by hand or from the math library of the VM.
-module(nxvk_ops).

-export([names/0, run/2]).

-define(X, nxvk_client).

%% names lists the operations that have cases.
names() -> lists:usort([element(1, C) || C <- cases()]).

%% run carries out every case of an operation.
run(Op, Device) ->
    [one(Device, C) || C <- cases(), element(1, C) =:= Op],
    ok.

%% one carries out a case: operation, result or results, operands, attributes,
%% and what each result must be.
one(Device, {Op, {_, _} = Out, Operands, Attributes, Expected}) ->
    one(Device, {Op, [Out], Operands, Attributes, [Expected]});
one(Device, {Op, Outs, Operands, Attributes, Expected} = Case) ->
    Ins = [operand(Device, O) || O <- Operands],
    Results = [{?X:id(Device), Type, Shape} || {Type, Shape} <- Outs],
    ?X:stream(Device, [{Op, Results, Ins, Attributes}]),
    Got = [?X:values(Device, Id, Type) || {Id, Type, _} <- Results],
    lists:all(fun same/1, lists:zip3(Outs, Got, Expected)) orelse exit({Case, got, Got}).

same({{Type, _}, {ok, Got}, Expected}) when length(Got) =:= length(Expected) ->
    lists:all(fun({G, E}) -> close(Type, G, E) end, lists:zip(Got, Expected));
same(_) -> false.

operand(_, {literal, {Type, Number}}) -> ?X:scalar(Type, Number);
operand(_, {literal, {Type, Shape, Numbers}}) -> {Type, Shape, ?X:encode(Type, Numbers)};
operand(Device, {Type, Shape, Numbers}) -> ?X:tensor(Device, Type, Shape, Numbers).

%% close compares exactly but for floats, which may differ in their last places.
close(Type, {Re, Im}, {Re2, Im2}) -> close(Type, Re, Re2) andalso close(Type, Im, Im2);
close(_, Same, Same) -> true;
close(Type, Got, Expected) when is_number(Got), is_float(Expected) ->
    abs(Got - Expected) =< tolerance(Type) * max(abs(Expected), 1.0e-30);
close(_, Got, Expected) when is_float(Got), is_integer(Expected) -> Got == Expected;
close(_, _, _) -> false.

tolerance(f64) -> 1.0e-15;
tolerance(c128) -> 1.0e-14;
tolerance(f16) -> 2.0e-3;
tolerance(bf16) -> 1.6e-2;
tolerance(_) -> 5.0e-7.

cases() ->
    create() ++ arithmetic() ++ integer() ++ compare() ++ unary() ++ complex() ++ choose() ++
        convert() ++ reduce() ++ arg_reduce() ++ movement() ++ slices() ++ contract() ++
        index() ++ window() ++ order() ++ transform() ++ rest().

create() ->
    [{constant, {f32, {2, 2}}, [{literal, {f32, 1.5}}], [], [1.5, 1.5, 1.5, 1.5]},
     {constant, {u8, {}}, [{literal, {u8, 7}}], [], [7]},
     {tensor, {s16, {3}}, [{literal, {s16, {3}, [-1, 0, 300]}}], [], [-1, 0, 300]},
     {iota, {s32, {2, 3}}, [], [-1], [0, 1, 2, 3, 4, 5]},
     {iota, {f32, {2, 3}}, [], [0], [0, 0, 0, 1, 1, 1]},
     {iota, {u64, {2, 3}}, [], [1], [0, 1, 2, 0, 1, 2]},
     {eye, {f32, {2, 3}}, [], [], [1, 0, 0, 0, 1, 0]},
     {eye, {s32, {2, 2, 2}}, [], [], [1, 0, 0, 1, 1, 0, 0, 1]}].

%% binary is a pointwise case of two vectors.
binary(Op, Type, A, B, Expected) -> binary(Op, Type, Type, A, B, Expected).
binary(Op, Out, In, A, B, Expected) ->
    Shape = {length(A)},
    {Op, {Out, Shape}, [{In, Shape, A}, {In, Shape, B}], [], Expected}.

arithmetic() ->
    [binary(add, f32, [1.0, 2.0, -0.5], [10.0, 20.0, 0.25], [11.0, 22.0, -0.25]),
     binary(add, f64, [0.1, 1.0e300], [0.2, 1.0e300], [0.1 + 0.2, 2.0e300]),
     binary(add, f32, [infinity, infinity], [1.0, neg_infinity], [infinity, nan]),
     binary(add, s32, [2147483647, -5], [1, 2], [-2147483648, -3]),
     binary(add, u8, [200, 1], [100, 2], [44, 3]),
     binary(add, s8, [127, -128], [1, -1], [-128, 127]),
     binary(add, u16, [65535, 1], [1, 1], [0, 2]),
     binary(add, s64, [9223372036854775807, 1 bsl 40], [1, 1], [-9223372036854775808, (1 bsl 40) + 1]),
     binary(add, u64, [18446744073709551615, 5], [1, 6], [0, 11]),
     binary(add, bf16, [1.0, 2.0], [0.5, 4.0], [1.5, 6.0]),
     binary(add, f16, [1.0, 2.0], [0.5, 4.0], [1.5, 6.0]),
     binary(add, f8, [1.0, 2.0], [0.5, 4.0], [1.5, 6.0]),
     binary(add, s4, [3, -4], [2, 1], [5, -3]),
     binary(add, u2, [3, 1], [1, 1], [0, 2]),
     binary(add, c64, [{1.0, 2.0}], [{0.5, -1.0}], [{1.5, 1.0}]),
     {add, {f32, {2, 3}}, [{f32, {2, 1}, [1.0, 2.0]}, {f32, {3}, [10.0, 20.0, 30.0]}], [],
      [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]},
     {add, {f32, {2}}, [{s32, {2}, [1, 2]}, {literal, {f32, 0.5}}], [], [1.5, 2.5]},
     {add, {s32, {2}}, [{s32, {2}, [1, 2]}, {literal, {s32, {2}, [5, 6]}}], [], [6, 8]},
     binary(subtract, f32, [1.0, 2.0], [10.0, -20.0], [-9.0, 22.0]),
     binary(subtract, u32, [1, 7], [2, 3], [4294967295, 4]),
     binary(multiply, f32, [1.5, -2.0], [10.0, 3.0], [15.0, -6.0]),
     binary(multiply, s32, [65536, -3], [65536, 7], [0, -21]),
     binary(multiply, c64, [{1.0, 2.0}], [{3.0, -1.0}], [{5.0, 5.0}]),
     binary(pow, f32, [2.0, 3.0, 4.0], [3.0, 2.0, 0.5], [8.0, 9.0, 2.0]),
     binary(pow, s32, [3, -2, 2], [4, 3, 0], [81, -8, 1]),
     binary(remainder, s32, [7, -7, 7], [3, 3, -3], [1, -1, 1]),
     binary(remainder, f32, [7.5, -7.5], [2.0, 2.0], [1.5, -1.5]),
     binary(divide, f32, [1.0, -7.0, 1.0], [4.0, 2.0, 0.0], [0.25, -3.5, infinity]),
     binary(divide, f32, s32, [1, 7], [4, 2], [0.25, 3.5]),
     binary(divide, f64, [1.0], [3.0], [1 / 3]),
     binary(atan2, f32, [1.0, -1.0, 0.0], [1.0, -1.0, -1.0],
            [math:atan2(1, 1), math:atan2(-1, -1), math:pi()]),
     binary(min, f32, [1.0, nan, 3.0], [2.0, 1.0, nan], [1.0, nan, nan]),
     binary(min, s32, [1, -3], [2, -4], [1, -4]),
     binary(max, f32, [1.0, nan, 3.0], [2.0, 1.0, nan], [2.0, nan, nan]),
     binary(max, u64, [1, 1 bsl 63], [2, 4], [2, 1 bsl 63])].

integer() ->
    [binary(quotient, s32, [7, -7, 7], [2, 2, -2], [3, -3, -3]),
     binary(quotient, u8, [200, 9], [3, 10], [66, 0]),
     binary(bitwise_and, s32, [12, -1], [10, 255], [8, 255]),
     binary(bitwise_or, u8, [12, 1], [10, 2], [14, 3]),
     binary(bitwise_xor, u64, [12, 1 bsl 63], [10, 1], [6, (1 bsl 63) + 1]),
     binary(left_shift, s32, [1, -1], [4, 31], [16, -2147483648]),
     binary(right_shift, s32, [-8, 8], [1, 2], [-4, 2]),
     binary(right_shift, u32, [4294967288, 8], [1, 2], [2147483644, 2])].

compare() ->
    A = [1.0, 2.0, nan], B = [1.0, 3.0, nan],
    P = [0.0, 0.0, 2.0, -1.0], Q = [0.0, 5.0, 0.0, 3.0],
    [binary(equal, u8, f32, A, B, [1, 0, 0]),
     binary(equal, u8, s64, [1 bsl 53, (1 bsl 53) + 1], [1 bsl 53, 1 bsl 53], [1, 0]),
     binary(not_equal, u8, f32, A, B, [0, 1, 1]),
     binary(greater, u8, f32, B, A, [0, 1, 0]),
     binary(greater, u8, u32, [4294967295, 0], [1, 1], [1, 0]),
     binary(less, u8, f32, A, B, [0, 1, 0]),
     binary(less, u8, s32, [-1, 1], [1, -1], [1, 0]),
     binary(greater_equal, u8, f32, A, B, [1, 0, 0]),
     binary(less_equal, u8, f32, A, B, [1, 1, 0]),
     binary(logical_and, u8, f32, P, Q, [0, 0, 0, 1]),
     binary(logical_or, u8, f32, P, Q, [0, 1, 1, 1]),
     binary(logical_xor, u8, f32, P, Q, [0, 1, 1, 0])].

%% unary is a pointwise case of one vector.
unary(Op, Type, A, Expected) -> unary(Op, Type, Type, A, Expected).
unary(Op, Out, In, A, Expected) -> {Op, {Out, {length(A)}}, [{In, {length(A)}, A}], [], Expected}.

%% float is a case of a function that the math library has, in f32 and f64.
float(Op, Function, A) ->
    Expected = [float(Function(X)) || X <- A],
    [unary(Op, f64, A, Expected), unary(Op, f32, A, Expected)].

unary() ->
    lists:append(
      [float(exp, fun math:exp/1, [0.0, 1.0, -2.5]),
       float(expm1, fun(X) -> math:exp(X) - 1 end, [1.0, -2.0]),
       float(log, fun math:log/1, [1.5, 2.0, 1000.0]),
       float(log1p, fun(X) -> math:log(1 + X) end, [1.0, 3.0]),
       float(sigmoid, fun(X) -> 1 / (1 + math:exp(-X)) end, [0.0, 2.0, -3.0]),
       float(cos, fun math:cos/1, [0.0, 1.0, -2.5]),
       float(sin, fun math:sin/1, [0.0, 1.0, -2.5]),
       float(tan, fun math:tan/1, [0.0, 1.0, -2.5]),
       float(cosh, fun math:cosh/1, [0.0, 1.0, -2.5]),
       float(sinh, fun math:sinh/1, [0.0, 1.0, -2.5]),
       float(tanh, fun math:tanh/1, [0.0, 0.5, -2.5]),
       float(acos, fun math:acos/1, [0.0, 0.5, -0.25]),
       float(asin, fun math:asin/1, [0.0, 0.5, -0.25]),
       float(atan, fun math:atan/1, [0.0, 0.5, -4.0]),
       float(acosh, fun math:acosh/1, [1.5, 4.0]),
       float(asinh, fun math:asinh/1, [0.0, 0.5, -4.0]),
       float(atanh, fun math:atanh/1, [0.0, 0.5, -0.75]),
       float(sqrt, fun math:sqrt/1, [0.0, 2.0, 144.0]),
       float(rsqrt, fun(X) -> 1 / math:sqrt(X) end, [1.0, 2.0, 144.0]),
       float(cbrt, fun(X) -> X / abs(X) * math:pow(abs(X), 1 / 3) end, [2.0, 1000.0, -5.0]),
       float(erf, fun math:erf/1, [0.0, 0.5, -1.25]),
       float(erfc, fun math:erfc/1, [0.0, 0.5, -1.25])]) ++
    [unary(erf_inv, f32, [0.0, 0.5], [0.0, 0.4769362762044699]),
     unary(exp, f32, [infinity, neg_infinity, nan], [infinity, 0.0, nan]),
     unary(log, f32, [0.0, -1.0], [neg_infinity, nan]),
     unary(sqrt, f16, [4.0, 2.25], [2.0, 1.5]),
     unary(abs, f32, [-1.5, 2.0], [1.5, 2.0]),
     unary(abs, s32, [-7, 7], [7, 7]),
     unary(bitwise_not, u8, [0, 15], [255, 240]),
     unary(ceil, f32, [1.25, -1.25, 3.0], [2.0, -1.0, 3.0]),
     unary(floor, f32, [1.25, -1.25, 3.0], [1.0, -2.0, 3.0]),
     unary(negate, f32, [1.5, -2.0], [-1.5, 2.0]),
     unary(negate, s32, [-2147483648, 3], [-2147483648, -3]),
     unary(round, f32, [2.5, -2.5, 0.4], [3.0, -3.0, 0.0]),
     unary(sign, f32, [3.5, -3.5, nan], [1.0, -1.0, nan]),
     unary(sign, s32, [3, 0, -5], [1, 0, -1]),
     unary(count_leading_zeros, u8, [0, 1, 255], [8, 7, 0]),
     unary(count_leading_zeros, s32, [1, -1], [31, 0]),
     unary(population_count, u8, [0, 7, 255], [0, 3, 8]),
     unary(population_count, s64, [-1, 5], [64, 2]),
     unary(is_nan, u8, f32, [nan, 1.0, infinity], [1, 0, 0]),
     unary(is_infinity, u8, f32, [nan, 1.0, neg_infinity], [0, 0, 1]),
     unary(logical_not, u8, f32, [0.0, 2.0, nan], [1, 0, 0])].

complex() ->
    [unary(conjugate, c64, [{1.0, 2.0}], [{1.0, -2.0}]),
     unary(real, f32, c64, [{1.0, 2.0}], [1.0]),
     unary(imag, f32, c64, [{1.0, 2.0}], [2.0]),
     unary(abs, f32, c64, [{3.0, 4.0}], [5.0])].

choose() ->
    [{select, {f32, {3}}, [{u8, {3}, [1, 0, 7]}, {f32, {3}, [1.0, 2.0, 3.0]}, {f32, {3}, [10.0, 20.0, 30.0]}], [],
      [1.0, 20.0, 3.0]},
     {select, {s32, {2, 2}}, [{u8, {2, 1}, [1, 0]}, {s32, {2}, [1, 2]}, {literal, {s32, 9}}], [], [1, 2, 9, 9]},
     {clip, {f32, {4}}, [{f32, {4}, [-5.0, 0.5, 5.0, infinity]}, {literal, {f32, -1.0}}, {literal, {f32, 1.0}}], [],
      [-1.0, 0.5, 1.0, 1.0]},
     {clip, {s32, {3}}, [{s32, {3}, [-5, 0, 5]}, {literal, {s32, -1}}, {literal, {s32, 1}}], [], [-1, 0, 1]}].

convert() ->
    [unary(as_type, s32, f32, [1.9, -1.9, nan, infinity, neg_infinity], [1, -1, 0, 2147483647, -2147483648]),
     unary(as_type, u8, s32, [300, -1, 7], [44, 255, 7]),
     unary(as_type, f32, u8, [0, 255], [0.0, 255.0]),
     unary(as_type, f64, f32, [0.5, -2.25], [0.5, -2.25]),
     unary(as_type, f16, f32, [0.5, 65520.0], [0.5, infinity]),
     unary(as_type, bf16, f32, [1.0, -2.5], [1.0, -2.5]),
     unary(as_type, s64, u32, [4294967295, 1], [4294967295, 1]),
     unary(as_type, c64, f32, [1.5], [{1.5, 0.0}]),
     unary(bitcast, u32, f32, [1.0, -2.0], [1065353216, 3221225472]),
     unary(bitcast, f64, s64, [4607182418800017408], [1.0])].

reduce() ->
    M = {f32, {2, 3}, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
    Z = {s32, {2, 2}, [0, 1, 2, 3]},
    [{sum, {f32, {3}}, [M], [[0], false], [5.0, 7.0, 9.0]},
     {sum, {f32, {2}}, [M], [[1], false], [6.0, 15.0]},
     {sum, {f32, {2, 1}}, [M], [[1], true], [6.0, 15.0]},
     {sum, {f32, {}}, [M], [[0, 1], false], [21.0]},
     {sum, {s64, {}}, [{s32, {3}, [2147483647, 1, 1]}], [[0], false], [2147483649]},
     {sum, {f64, {2}}, [{f64, {2, 2, 2}, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]}], [[0, 2], false], [14.0, 22.0]},
     {product, {f32, {3}}, [M], [[0], false], [4.0, 10.0, 18.0]},
     {product, {s32, {}}, [{s32, {4}, [1, 2, 3, 4]}], [[0], false], [24]},
     {reduce_max, {f32, {2}}, [M], [[1], false], [3.0, 6.0]},
     {reduce_max, {f32, {}}, [{f32, {3}, [1.0, nan, 2.0]}], [[0], false], [nan]},
     {reduce_min, {f32, {3}}, [M], [[0], false], [1.0, 2.0, 3.0]},
     {reduce_min, {s32, {}}, [{s32, {3}, [4, -7, 2]}], [[0], false], [-7]},
     {all, {u8, {2}}, [Z], [[1], false], [0, 1]},
     {all, {u8, {}}, [M], [[0, 1], false], [1]},
     {any, {u8, {2}}, [{s32, {2, 2}, [0, 0, 0, 3]}], [[1], false], [0, 1]}].

arg_reduce() ->
    M = {f32, {2, 3}, [1.0, 3.0, 3.0, 9.0, 5.0, 5.0]},
    [{argmax, {s32, {2}}, [M], [1, false, low], [1, 0]},
     {argmax, {s32, {2}}, [M], [1, false, high], [2, 0]},
     {argmax, {s64, {}}, [M], [-1, false, low], [3]},
     {argmax, {s32, {1, 3}}, [M], [0, true, low], [1, 1, 1]},
     {argmin, {s32, {2}}, [M], [1, false, low], [0, 1]},
     {argmin, {s32, {2}}, [M], [1, false, high], [0, 2]},
     {argmin, {s32, {}}, [M], [-1, false, low], [0]}].

movement() ->
    M = {s32, {2, 3}, [1, 2, 3, 4, 5, 6]},
    [{reshape, {s32, {3, 2}}, [M], [], [1, 2, 3, 4, 5, 6]},
     {squeeze, {s32, {2}}, [{s32, {1, 2, 1}, [7, 8]}], [[0, 2]], [7, 8]},
     {broadcast, {s32, {2, 3}}, [{s32, {3}, [1, 2, 3]}], [[1]], [1, 2, 3, 1, 2, 3]},
     {broadcast, {s32, {2, 3}}, [{s32, {2}, [1, 2]}], [[0]], [1, 1, 1, 2, 2, 2]},
     {transpose, {s32, {3, 2}}, [M], [[1, 0]], [1, 4, 2, 5, 3, 6]},
     {transpose, {u8, {3, 1, 2}}, [{u8, {1, 2, 3}, [1, 2, 3, 4, 5, 6]}], [[2, 0, 1]], [1, 4, 2, 5, 3, 6]},
     {pad, {s32, {6}}, [{s32, {2}, [1, 2]}, {literal, {s32, 0}}], [[{1, 2, 1}]], [0, 1, 0, 2, 0, 0]},
     {pad, {s32, {2}}, [{s32, {4}, [1, 2, 3, 4]}, {literal, {s32, 0}}], [[{-1, -1, 0}]], [2, 3]},
     {pad, {f32, {2, 3}}, [{f32, {1, 2}, [1.0, 2.0]}, {literal, {f32, 9.0}}], [[{0, 1, 0}, {1, 0, 0}]],
      [9.0, 1.0, 2.0, 9.0, 9.0, 9.0]},
     {reverse, {s32, {2, 3}}, [M], [[1]], [3, 2, 1, 6, 5, 4]},
     {reverse, {s32, {2, 3}}, [M], [[0, 1]], [6, 5, 4, 3, 2, 1]},
     {concatenate, {s32, {2, 4}}, [M, {s32, {2, 1}, [7, 8]}], [1], [1, 2, 3, 7, 4, 5, 6, 8]},
     {concatenate, {s32, {5}}, [{s32, {2}, [1, 2]}, {s32, {1}, [3]}, {s32, {2}, [4, 5]}], [0], [1, 2, 3, 4, 5]},
     {stack, {s32, {2, 2}}, [{s32, {2}, [1, 2]}, {s32, {2}, [3, 4]}], [0], [1, 2, 3, 4]},
     {stack, {s32, {2, 2}}, [{s32, {2}, [1, 2]}, {s32, {2}, [3, 4]}], [1], [1, 3, 2, 4]}].

slices() ->
    M = {s32, {3, 3}, [1, 2, 3, 4, 5, 6, 7, 8, 9]},
    U = {s32, {1, 2}, [20, 30]},
    [{slice, {s32, {2, 2}}, [M], [[1, 0], [2, 2], [1, 1]], [4, 5, 7, 8]},
     {slice, {s32, {2, 1}}, [M], [[0, 2], [3, 1], [2, 1]], [3, 9]},
     {slice, {s32, {1, 2}}, [M, {literal, {s32, 9}}, {literal, {s32, 1}}], [[], [1, 2], [1, 1]], [8, 9]},
     {slice, {s32, {1, 2}}, [M, {s32, {}, [1]}, {s64, {}, [-4]}], [[], [1, 2], [1, 1]], [4, 5]},
     {put_slice, {s32, {3, 3}}, [M, U], [[1, 1]], [1, 2, 3, 4, 20, 30, 7, 8, 9]},
     {put_slice, {s32, {3, 3}}, [M, U, {literal, {s32, 7}}, {s32, {}, [7]}], [[]], [1, 2, 3, 4, 5, 6, 7, 20, 30]}].

contract() ->
    A = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    I = [1, 2, 3, 4],
    Product = [22.0, 28.0, 49.0, 64.0],
    Matrix = [[1], [], [0], []],
    [{dot, {f32, {2, 2}}, [{f32, {2, 3}, A}, {f32, {3, 2}, A}], Matrix, Product},
     {dot, {f64, {2, 2}}, [{f64, {2, 3}, A}, {f64, {3, 2}, A}], Matrix, Product},
     {dot, {f16, {2, 2}}, [{f16, {2, 3}, A}, {f16, {3, 2}, A}], Matrix, Product},
     {dot, {s32, {2, 2}}, [{s32, {2, 2}, I}, {s32, {2, 2}, I}], Matrix, [7, 10, 15, 22]},
     {dot, {u64, {2, 2}}, [{u64, {2, 2}, I}, {u64, {2, 2}, I}], Matrix, [7, 10, 15, 22]},
     {dot, {u8, {2, 2}}, [{u8, {2, 2}, I}, {u8, {2, 2}, I}], Matrix, [7, 10, 15, 22]},
     {dot, {f32, {}}, [{f32, {3}, [1.0, 2.0, 3.0]}, {f32, {3}, [4.0, 5.0, 6.0]}], [[0], [], [0], []], [32.0]},
     {dot, {f32, {2, 3}}, [{f32, {2}, [1.0, 2.0]}, {f32, {3}, [1.0, 2.0, 3.0]}], [[], [], [], []],
      [1.0, 2.0, 3.0, 2.0, 4.0, 6.0]},
     {dot, {f32, {2, 1, 1}}, [{f32, {2, 1, 2}, [1.0, 2.0, 3.0, 4.0]}, {f32, {2, 2, 1}, [1.0, 2.0, 3.0, 4.0]}],
      [[2], [0], [1], [0]], [5.0, 25.0]},
     {dot, {c64, {1, 1}}, [{c64, {1, 1}, [{1.0, 2.0}]}, {c64, {1, 1}, [{3.0, -1.0}]}], Matrix, [{5.0, 5.0}]}].

index() ->
    M = {s32, {2, 3}, [1, 2, 3, 4, 5, 6]},
    [{gather, {s32, {2}}, [M, {s32, {2, 2}, [0, 2, 1, 0]}], [[0, 1]], [3, 4]},
     {gather, {s32, {2, 3}}, [M, {u8, {2, 1}, [1, 0]}], [[0]], [4, 5, 6, 1, 2, 3]},
     {take, {s32, {2, 2}}, [M, {s64, {2}, [2, 0]}], [1], [3, 1, 6, 4]},
     {take_along_axis, {s32, {2, 1}}, [M, {s32, {2, 1}, [1, 2]}], [1], [2, 6]},
     {indexed_add, {s32, {3}}, [{s32, {3}, [1, 1, 1]}, {s32, {3, 1}, [0, 0, 2]}, {s32, {3}, [5, 6, 7]}], [[0]], [12, 1, 8]},
     {indexed_put, {s32, {3}}, [{s32, {3}, [1, 1, 1]}, {s32, {2, 1}, [0, 2]}, {s32, {2}, [5, 7]}], [[0]], [5, 1, 7]}].

window() ->
    V = {f32, {4}, [1.0, 4.0, 2.0, 3.0]},
    Pairs = [[2], [{0, 0}], [1], [1]],
    Padded = [[2], [{1, 0}], [2], [1]],
    Scatter = [{s32, {4}, [1, 4, 2, 3]}, {s32, {2}, [10, 20]}, {literal, {s32, 0}}],
    %% 10 minus one element after the other.
    Minus = {[{1, f32, {}}, {2, f32, {}}], [{subtract, [{3, f32, {}}], [2, 1], []}], [3]},
    [{reduce, {f32, {}}, [V, {literal, {f32, 10.0}}], [[0], false, Minus], [0.0]},
     {reduce, {f32, {1}}, [V, {literal, {f32, 10.0}}], [[0], true, Minus], [0.0]},
     {window_reduce, {f32, {3}}, [V, {literal, {f32, 10.0}}], [[2], [{0, 0}], [1], [1], Minus], [5.0, 4.0, 5.0]},
     {window_sum, {f32, {3}}, [V], Pairs, [5.0, 6.0, 5.0]},
     {window_sum, {f32, {2}}, [V], Padded, [1.0, 6.0]},
     {window_product, {f32, {3}}, [V], Pairs, [4.0, 8.0, 6.0]},
     {window_max, {f32, {3}}, [V], Pairs, [4.0, 4.0, 3.0]},
     {window_min, {f32, {3}}, [V], Pairs, [1.0, 2.0, 2.0]},
     {window_scatter_max, {s32, {4}}, Scatter, [[2], [{0, 0}], [2]], [0, 10, 0, 20]},
     {window_scatter_min, {s32, {4}}, Scatter, [[2], [{0, 0}], [2]], [10, 0, 20, 0]},
     {conv, {f32, {1, 1, 3}}, [{f32, {1, 1, 4}, [1.0, 2.0, 3.0, 4.0]}, {f32, {1, 1, 2}, [1.0, 10.0]}],
      [[1], [{0, 0}], [1], [1], 1, 1, [0, 1, 2], [0, 1, 2], [0, 1, 2]], [21.0, 32.0, 43.0]}].

order() ->
    V = {s32, {4}, [3, 1, 2, 1]},
    [{sort, {s32, {4}}, [V], [0, asc, true], [1, 1, 2, 3]},
     {sort, {s32, {4}}, [V], [0, desc, true], [3, 2, 1, 1]},
     {argsort, {s32, {4}}, [V], [0, asc, true], [1, 3, 2, 0]},
     {top_k, [{f32, {2}}, {s32, {2}}], [{f32, {4}, [3.0, 1.0, 5.0, 2.0]}], [2], [[5.0, 3.0], [2, 0]]},
     {cumulative_sum, {s32, {4}}, [V], [0, false], [3, 4, 6, 7]},
     {cumulative_sum, {s32, {4}}, [V], [0, true], [7, 4, 3, 1]},
     {cumulative_product, {s32, {4}}, [V], [0, false], [3, 3, 6, 6]},
     {cumulative_min, {s32, {4}}, [V], [0, false], [3, 1, 1, 1]},
     {cumulative_max, {s32, {4}}, [V], [0, true], [3, 2, 2, 1]}].

transform() ->
    X = {f64, {4}, [1.0, 2.0, 3.0, 5.0]},
    F = [{11.0, 0.0}, {-2.0, 3.0}, {-3.0, 0.0}, {-2.0, -3.0}],
    Complex = [{1.0, 0.0}, {2.0, 0.0}, {3.0, 0.0}, {5.0, 0.0}],
    F2 = [{11.0, 0.0}, {-3.0, 0.0}, {-5.0, 0.0}, {1.0, 0.0}],
    [{fft, {c128, {4}}, [X], [4, 0, 1.0e-10], F},
     {ifft, {c128, {4}}, [{c128, {4}, F}], [4, 0, 1.0e-10], Complex},
     {fft2, {c128, {2, 2}}, [{f64, {2, 2}, [1.0, 2.0, 3.0, 5.0]}], [[2, 2], [0, 1], 1.0e-10], F2},
     {ifft2, {c128, {2, 2}}, [{c128, {2, 2}, F2}], [[2, 2], [0, 1], 1.0e-10], Complex},
     {rfft, {c128, {3}}, [X], [4, 0, 1.0e-10], lists:sublist(F, 3)},
     {irfft, {f64, {4}}, [{c128, {3}, lists:sublist(F, 3)}], [4, 0, 1.0e-10], [1.0, 2.0, 3.0, 5.0]}].

rest() ->
    A = {f64, {2, 2}, [2.0, 0.0, 1.0, 4.0]},
    [{triangular_solve, {f64, {2}}, [A, {f64, {2}, [4.0, 10.0]}], [true, true, none], [2.0, 2.0]},
     {cholesky, {f64, {2, 2}}, [{f64, {2, 2}, [4.0, 0.0, 0.0, 9.0]}], [], [2.0, 0.0, 0.0, 3.0]},
     {solve, {f64, {2}}, [{f64, {2, 2}, [2.0, 0.0, 0.0, 4.0]}, {f64, {2}, [4.0, 8.0]}], [], [2.0, 2.0]},
     {determinant, {f64, {}}, [{f64, {2, 2}, [2.0, 1.0, 1.0, 3.0]}], [], [5.0]},
     {lu, [{f64, {2, 2}}, {f64, {2, 2}}, {f64, {2, 2}}], [{f64, {2, 2}, [2.0, 1.0, 1.0, 3.0]}], [],
      [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.5, 1.0], [2.0, 1.0, 0.0, 2.5]]},
     {qr, [{f64, {2, 2}}, {f64, {2, 2}}], [{f64, {2, 2}, [3.0, 0.0, 0.0, 2.0]}], [reduced],
      [[1.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, 2.0]]},
     {eigh, [{f64, {2}}, {f64, {2, 2}}], [{f64, {2, 2}, [9.0, 0.0, 0.0, 4.0]}], [],
      [[9.0, 4.0], [1.0, 0.0, 0.0, 1.0]]},
     {svd, [{f64, {2, 2}}, {f64, {2}}, {f64, {2, 2}}], [{f64, {2, 2}, [3.0, 0.0, 0.0, 2.0]}], [true],
      [[1.0, 0.0, 0.0, 1.0], [3.0, 2.0], [1.0, 0.0, 0.0, 1.0]]},
     {phase, {f32, {2}}, [{c64, {2}, [{0.0, 1.0}, {-1.0, 0.0}]}], [], [math:pi() / 2, math:pi()]}].
