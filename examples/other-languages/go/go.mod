module eggbox.example/pool

go 1.21
