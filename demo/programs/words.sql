-- Asks a table of words what they are, then makes room. @FOLDER@ is put in by scripts/demo.py.
.open --new @FOLDER@/words.db
pragma journal_mode = off;
pragma synchronous = off;
create table words(word text, file text, line integer);
.mode tabs
.import @FOLDER@/words.tsv words
.mode list
select 'rows', count(*) from words;
create index by_word on words(word);
create index by_place on words(file, line);

select '-- the most frequent words';
select word, count(*) as times, count(distinct file) from words
  group by word order by times desc, word limit 5;

select '-- files by how many different words they have';
select file, count(distinct lower(word)) as different, group_concat(distinct substr(word, 1, 1))
  from words group by file order by different desc, file limit 3;

select '-- words that come in the same line most often';
select a.word, b.word, count(*) as times from words a join words b
  on a.file = b.file and a.line = b.line and a.word < b.word
  where a.word between 'a' and 'm' and length(a.word) > 4 and length(b.word) > 4
  group by a.word, b.word order by times desc, a.word, b.word limit 3;

select '-- as a document';
select length(json_group_array(json_object('word', word, 'file', file, 'line', line))) from words;

delete from words where length(word) < 3;
vacuum;
select 'rows left', count(*), sum(length(word)) from words;
pragma integrity_check;
