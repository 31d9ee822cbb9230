import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const guide = readFileSync(join(root, 'docs/why/architecture.md'), 'utf8')
const firstChange = readFileSync(join(root, 'docs/start/first-change.md'), 'utf8')

/** `packages/x/<name>` of what is yet to be made names the folder that it goes to. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`(packages\/[^`\s]+)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !path.includes('…'))
    .map((path) => (path.includes('<') ? dirname(path.slice(0, path.indexOf('<') + 1)) : path))
}

/** The row of the table of what is new. */
function findRow(what: string): string {
  return guide.split('\n').find((line) => line.startsWith(`| ${what} |`)) ?? ''
}

test('every path that the guide to the code names is there', () => {
  const paths = pathsIn(guide)
  assert.ok(paths.length > 40)
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  )
})

test('the guide names the folder and the files for each kind of extension', () => {
  for (const [what, folder] of [
    ['a new signature algorithm', 'packages/crypto/algorithms/signatures.ts'],
    ['a new login method', 'packages/auth/methods'],
    ['a new external key store', 'packages/external-stores'],
    ['a new public PKI endpoint', 'packages/kms/pki'],
  ] as const) {
    const [first, ...others] = pathsIn(findRow(what))
    assert.equal(first, folder, what)
    assert.ok(others.length > 0, what)
  }
})

test('each task of the page on the first change names at least ten paths, and all of them exist', () => {
  const tasks = firstChange.split(/^## /m).slice(1)
  assert.deepEqual(
    tasks.map((task) => task.slice(0, task.indexOf('\n'))),
    ['A REST operation', 'A KMIP attribute', 'A login method'],
  )
  for (const task of tasks) {
    const paths = pathsIn(task)
    assert.ok(paths.length >= 10, task)
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    )
  }
})

test('the README of each package names its purpose and files that exist', () => {
  const missing: string[] = []
  for (const name of readdirSync(join(root, 'packages'))) {
    const folder = join(root, 'packages', name)
    const readme = join(folder, 'README.md')
    if (!existsSync(readme)) missing.push(readme)
    // The page of the client is for its users.
    if (!existsSync(readme) || name === 'client') continue
    const text = readFileSync(readme, 'utf8')
    const paths = [...text.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path)
    assert.ok(paths.length > 1 && text.split('\n').length < 30, readme)
    missing.push(
      ...paths.filter((path) => !existsSync(join(path.startsWith('scripts/') ? root : folder, path))),
    )
  }
  assert.deepEqual(missing, [])
})
