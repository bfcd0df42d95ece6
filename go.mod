module github.com/loadline-dev/loadline

go 1.26
