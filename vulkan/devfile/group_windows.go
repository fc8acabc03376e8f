package devfile

import "os"

func groupID(os.FileInfo) (string, bool) { return "", false }
