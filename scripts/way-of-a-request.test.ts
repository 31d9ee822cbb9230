import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A request must pass through fewer files of its own than this. */
const tooMany = 37

test(`the ways of encrypt and of KMIP Create go through fewer than ${tooMany} files of their own`, async () => {
  const script = fileURLToPath(new URL('way-of-a-request.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  const counts = [...stdout.matchAll(/^(.+): (\d+) files of its own/gm)].map(([, name, count]) => ({
    name,
    count: Number(count),
  }))
  assert.deepEqual(
    counts.map(({ name }) => name),
    ['POST /v1/crypto/encrypt', 'KMIP Create'],
  )
  for (const { name, count } of counts) assert.ok(count > 10 && count < tooMany, `${name}: ${count} files`)
})
