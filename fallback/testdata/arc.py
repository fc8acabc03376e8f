# Writes arc.txt: values of the complex functions whose formulas cancel, by these
# formulas to 400 digits, near branch points and poles. A line has the function, the parts of its operand and
# the parts of the result, all as hexadecimal floats.
#
#     python3 arc.py > arc.txt        needs mpmath
from mpmath import mp, mpc, mpf, log, sqrt, exp, tan, tanh

mp.dps = 400
i = mpc(0, 1)
functions = {
    "log": log,
    "log1p": lambda z: log(1 + z),
    "expm1": lambda z: exp(z) - 1,
    "asin": lambda z: -i * log(i * z + sqrt(1 - z * z)),
    "acos": lambda z: -i * log(z + sqrt(z * z - 1)),
    "atan": lambda z: i / 2 * (log(1 - i * z) - log(1 + i * z)),
    "asinh": lambda z: log(z + sqrt(z * z + 1)),
    "acosh": lambda z: log(z + sqrt(z * z - 1)),
    "atanh": lambda z: log((1 + z) / (1 - z)) / 2,
}


def write(name, z, w):
    parts = [z[0], z[1], float(w.real), float(w.imag)]
    print(name, *[p.hex() for p in parts])


sizes = [0.0, 3e-9, 0.3, 0.9999999, 1.0, 1.0000000000001, 1.7, 3e8]
for name, f in functions.items():
    for x in sizes:
        for y in sizes:
            for z in {(x, y), (-x, y), (x, -y), (-x, -y)}:
                if name == "expm1" and abs(z[0]) > 600:
                    continue
                if min(x, y) == 0 and (min(z) < 0 or x == 0 or name == "atanh") and name != "expm1":
                    continue  # on a cut the sign of a zero counts
                try:
                    w = f(mpc(mpf(z[0]), mpf(z[1])))
                except (ValueError, ZeroDivisionError):
                    continue  # a pole
                write(name, z, w)

# Functions with poles and without cuts.
meromorphic = {"tan": tan, "tanh": tanh, "sigmoid": lambda z: 1 / (1 + exp(-z))}
near_poles = [0.0, 3e-9, 0.3, 1.0, 1.565, 1.5707963267948966, 3.14, 3.141592653589793, 25.0, 100.0]
for name, f in meromorphic.items():
    for x in near_poles:
        for y in near_poles:
            for z in sorted({(x, y), (-x, y), (x, -y), (-x, -y)}):
                write(name, z, f(mpc(mpf(z[0]), mpf(z[1]))))
