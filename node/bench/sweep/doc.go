// Package sweep measures operations and programs on operands of drawn types and shapes. Draw
// makes the list of cases from a seed; Run has an executor, the one that serves clients,
// carry them out on a device; Compare joins the results of two runs. A list is JSON lines, so
// that another program can time the same cases: test/bench/sweep_torch.py does with PyTorch.
//
// Each family of cases draws an operation, types by weight, and shapes like those of models:
// powers of two, odd and prime numbers, vocabularies, sides of images, skinny and broadcast
// ones. Repetitions of a case are independent, so that kernels of one overlap those of the next where the device can;
// Config.Serial has them wait for one another, as the operations of a model do. A case of a seed does not depend on how many are drawn. Nothing here judges a number,
// and no result is checked: test/conformance does that. Start reading at Case.
package sweep
