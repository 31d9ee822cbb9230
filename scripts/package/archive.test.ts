import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { list } from 'tar'
import { archive } from './archive.ts'
import { writeChecksums } from './checksums.ts'
import { sourceDate } from './source-date.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-archive-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const time = new Date(1_700_000_000_000)

async function packFiles(place: string, names: readonly string[], mode: number): Promise<string> {
  const top = join(folder, place, 'top')
  mkdirSync(join(top, 'sub'), { recursive: true })
  for (const name of names) {
    const file = join(top, name)
    writeFileSync(file, name)
    chmodSync(file, mode)
    utimesSync(file, new Date(), new Date(names.indexOf(name) * 1e6))
  }
  const file = join(folder, `${place}.tar.gz`)
  await archive(top, file, time)
  return file
}

test('the same content gives the same bytes, independent of user, time and order', async () => {
  const one = await packFiles('one', ['b', 'sub/c', 'a'], 0o644)
  const two = await packFiles('two', ['a', 'b', 'sub/c'], 0o664)
  assert.deepEqual(readFileSync(one), readFileSync(two))
  const entries: [string, number | undefined, number | undefined][] = []
  await list({
    file: one,
    onReadEntry: ({ path, uid, mtime }) => entries.push([path, uid, mtime?.getTime()]),
  })
  assert.deepEqual(
    entries.filter(([path]) => !path.endsWith('/')),
    ['top/a', 'top/b', 'top/sub/c'].map((path) => [path, undefined, time.getTime()]),
  )
})

test('the sums are those of the files, in the form that sha256sum reads', () => {
  const sums = join(folder, 'sums')
  mkdirSync(sums)
  writeFileSync(join(sums, 'b'), 'two')
  writeFileSync(join(sums, 'a'), 'one')
  for (const _ of ['written', 'written again']) writeChecksums(sums)
  const hash = (text: string) => createHash('sha256').update(text).digest('hex')
  assert.equal(readFileSync(join(sums, 'SHA256SUMS'), 'utf8'), `${hash('one')}  a\n${hash('two')}  b\n`)
})

test('the time of the archives is given in whole seconds', () => {
  assert.equal(sourceDate({ SOURCE_DATE_EPOCH: '1700000000' }).getTime(), time.getTime())
  for (const wrong of ['', 'today', '-1', '1.5', '0'])
    assert.throws(() => sourceDate({ SOURCE_DATE_EPOCH: wrong }), /SOURCE_DATE_EPOCH has whole seconds/)
})
