module papers

go 1.26
