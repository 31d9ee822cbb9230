import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { bundleOfCheckout, hashOfFiles, hashOfSources } from './checkout.ts'

test('the bundle of a checkout has the hash of its sources, and is made once', async () => {
  const [one, same] = await Promise.all([bundleOfCheckout(), bundleOfCheckout()])
  assert.equal(basename(one), hashOfSources())
  assert.equal(one, same)
  assert.ok(existsSync(join(one, 'bin', 'warder.mjs')))
})

test('another content, name or border between two files is another hash', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-hash-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [a, b] = [join(folder, 'a.ts'), join(folder, 'b.ts')]
  const hash = (first: string, second: string): string => {
    writeFileSync(a, first)
    writeFileSync(b, second)
    return hashOfFiles(folder, [b, a])
  }
  const hashes = [hash('one', 'two'), hash('onet', 'wo'), hash('two', 'one')]
  renameSync(b, join(folder, 'c.ts'))
  hashes.push(hashOfFiles(folder, [a, join(folder, 'c.ts')]))
  assert.equal(new Set(hashes).size, 4)
  renameSync(join(folder, 'c.ts'), b)
  assert.equal(hash('one', 'two'), hashes[0])
})
