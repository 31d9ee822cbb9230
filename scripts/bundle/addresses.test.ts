import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readdress } from './addresses.ts'
import { packages } from './entry-points.ts'

const file = join(packages, 'keys', 'abe', 'thread.ts')

test('threads, files and the command get their addresses in the bundle', () => {
  for (const [source, moved] of [
    [
      "new Worker(new URL('./abe-thread.ts', import.meta.url), { name })",
      "new Worker(new URL('./keys-abe-abe-thread.js', import.meta.url), { name })",
    ],
    ["new URL('../package.json', import.meta.url)", "new URL('./keys-package.json', import.meta.url)"],
    [
      "new URL('../../warder/bin/warder.mjs', import.meta.url)",
      "new URL('../bin/warder.mjs', import.meta.url)",
    ],
    ["import.meta.resolve('@warder/kms')", "import.meta.resolve('./kms-index.js')"],
    ["createRequire(import.meta.url)('pg')", "createRequire(import.meta.url)('pg')"],
  ] as const)
    assert.equal(readdress(file, source).source, moved)
  assert.deepEqual(readdress(file, "new URL('../package.json', import.meta.url)").assets, [
    'keys/package.json',
  ])
})

test('an address that the bundle would not have ends the build', () => {
  for (const [source, says] of [
    [
      "new URL('./other-thread.ts', import.meta.url)",
      /names keys\/abe\/other-thread\.ts, which .* does not list/,
    ],
    ["new URL('./' + name, import.meta.url)", /uses import\.meta in a way/],
    ["import.meta.resolve('@warder/pki')", /uses import\.meta in a way/],
    ['readFileSync(join(import.meta.dirname, name))', /uses import\.meta in a way/],
  ] as const)
    assert.throws(() => readdress(file, source), says)
})
