import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import fc from 'fast-check'
import { exportAudit } from './export.ts'
import { openAuditLog } from './log.ts'
import { parseRecordJson } from './record.ts'
import { verifyAudit } from './verify.ts'

test('A log of records whose names the engine mistakes for each other verifies and is exported as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-names-'))
  try {
    const log = await openAuditLog({
      folder,
      service: 'auth',
      node: 'n1',
      mode: 'continue',
      rotateBytes: 1_000_000,
      clock: systemClock,
      log: quietLog,
    })
    const claims = ['\\', '\u0085', '\n', '\\', '"'].map((name) => ({ '': 0, [name]: '', '⋴': '' }))
    for (const details of claims.flatMap((claim) => [claim, claim, claim]))
      log.trail.record({
        time: 0,
        request_id: 'r',
        principal: 'ann',
        auth_method: 'password',
        client_ip: '127.0.0.1',
        operation: 'userpass.create',
        outcome: 'success',
        status: 200,
        duration_ms: 1,
        details,
      })
    await log.close()
    assert.equal((await verifyAudit(folder, { thorough: true })).firstBroken, undefined)
    const exported: string[] = []
    for await (const line of exportAudit({ folder, format: 'cef' })) exported.push(line)
    const escapes = ['\\\\\\\\', '\\\\u0085', '\\\\n', '\\\\\\\\', '\\\\"']
    for (const [index, line] of exported.entries())
      assert.ok(line.includes(`{"":0,"${escapes[Math.floor(index / 3)]}":"","⋴":""}`), line)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('Names of a few escapes after each other are always read rightly', () => {
  const name = fc
    .array(fc.constantFrom('\\', 'u', '0', '\n', '"', 'é'), { maxLength: 3 })
    .map((all) => all.join(''))
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, null, '{', '"{}', '\\'),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      const text = JSON.stringify(value, undefined, 1)
      assert.equal(JSON.stringify(parseRecordJson(text), undefined, 1), text)
    }),
    { numRuns: 1000 },
  )
})

test('what is not JSON is none', () => {
  for (const text of [
    '{"a\\n"}',
    '{,"\\n":1}',
    '{"\\n":1',
    '{"\\x":1}',
    '"\\',
    '{"a":"\\n",}',
    '{{"\\n":1}}',
  ])
    assert.throws(() => parseRecordJson(text), SyntaxError, text)
})
