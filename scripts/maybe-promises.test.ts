import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

// `andThen` of @warder/base goes on with a value or a promise of it, and `MaybePromise` is its type.

const packages = fileURLToPath(new URL('../packages', import.meta.url))
const sources = globSync('**/*.ts', { cwd: packages })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !/node_modules|\.test\.ts$|(^|\/)testing\/|\/fixtures\/|^base\/and-then\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(packages, file), 'utf8') }))

/** Signs that a file distinguishes promises from values by itself, or names a type for either. */
const ownHelper =
  /instanceof Promise\b|\bisPromise|(?:function|const) (?:then|andThen)\b|type MaybePromise\s*[<=]|typeof \w+\.then\b|'then' in /

/** Files that have to know whether a value is there already, not only to go on with it. */
const reasons: Readonly<Record<string, string>> = {
  'identity/cascade.ts': 'a loop over the steps: no closure for each of them in every request',
  'authority/failures.ts': 'what is thrown at once and what rejects are told alike',
}

/** Files that may use `MaybePromise` and `andThen`: the path of a request for a cached key, and nothing beside it. */
const hotPath: Readonly<Record<string, string>> = {
  'server/http/dispatcher.ts': 'the steps of every request',
  'server/operations/types.ts': 'what the dispatcher calls: authentication, access check',
  'storage/sql/types.ts': 'SQLite answers at once, PostgreSQL does not',
  'storage/sql/cache.ts': 'an entry that is current is given at once',
  'identity/cascade.ts': 'authentication of every request',
  'keys/access/blocks.ts': 'the suspension of the caller of every request',
  'keys/access/key-access.ts': 'reads and authorises the key of a request',
  'keys/access/aliases.ts': 'resolves the name of the key',
  'keys/access/permission.ts': 'the right of the owner of a key',
  'crypto/backend/key-backend.ts':
    'a key of this process encrypts and computes MACs faster than a promise is made',
  'crypto/jose/jwe-flattened.ts': 'encrypt and decrypt',
  'kms/rest/encrypt.ts': 'encrypt',
  'kms/rest/decrypt.ts': 'decrypt',
  'kms/rest/mac.ts': 'mac',
  'kmip-server/engine/operation.ts': 'handlers of KMIP operations may be plain functions',
}

test('only the path of a request for a cached key goes on with values that may come later', () => {
  const users = sources
    .filter(({ file, text }) => file !== 'base/index.ts' && /\b(?:MaybePromise|andThen)\b/.test(text))
    .map(({ file }) => file)
  assert.deepEqual(users.sort(), Object.keys(hotPath).sort())
  assert.ok(users.length <= 15)
})

test('no file of the packages has its own helper for values that may come later', () => {
  assert.ok(sources.length > 500)
  const own = sources.filter(({ text }) => ownHelper.test(text)).map(({ file }) => file)
  assert.deepEqual(own.sort(), Object.keys(reasons).sort())
})

test('the rule sees helpers of every kind, and no use of the one', () => {
  for (const text of [
    'return made instanceof Promise ? made.then(next) : next(made)',
    'export function then<T>(value: T) {}',
    'export type MaybePromise<T> = T | Promise<T>',
    "if (typeof value.then === 'function')",
    'const isPromiseLike = 1',
  ]) {
    assert.match(text, ownHelper)
  }
  for (const text of ['andThen(value, next)', 'promise.then(next)', 'type MaybePromises = 1'])
    assert.doesNotMatch(text, ownHelper)
})
