import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPostgres } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { type Transport, transports } from 'warder/testing'
import { reasonToDecline } from './cases/declined.ts'
import type { TestCase } from './cases/test-case.ts'
import { listCases, vectorsVariable } from './cases/vectors.ts'
import { remarkOn } from './report/table.ts'
import { runCases } from './run/run-cases.ts'
import { startOwnServer, type TestServer } from './server/own-server.ts'

const cases = listCases(process.env, { draft: false })
const draftCases = listCases(process.env, { draft: true })
const missing = `the public KMIP test cases are not here (${vectorsVariable})`
const skip = cases.length === 0 ? missing : false
const skipDraft = draftCases.length === 0 ? missing : false

let server: TestServer
before(async () => {
  if (skip === false) server = await startOwnServer()
})
after(async () => {
  if (skip === false) await server[Symbol.asyncDispose]()
})

async function passAll(where: TestServer, way: Transport, cases: readonly TestCase[]): Promise<void> {
  const results = await runCases(cases, where, way)
  const failed = results.filter(({ outcome }) => outcome !== 'passed')
  assert.deepEqual(
    failed
      .filter(({ testCase }) => reasonToDecline(testCase) === undefined)
      .map((result) => `${result.testCase.name}: ${remarkOn(result)}`),
    [],
  )
  const declined = cases.filter((testCase) => reasonToDecline(testCase) !== undefined)
  assert.equal(failed.length, declined.length, 'a case that is declined passes')
  assert.equal(results.length, cases.length)
}

for (const way of transports) {
  test(`Every public OASIS test case passes strictly over ${way}`, { skip }, () =>
    passAll(server, way, cases),
  )
  test(`Every public test case of KMIP 3.0 that is not declined passes strictly over ${way}`, {
    skip: skipDraft,
  }, async () => {
    await using draftServer = await startOwnServer({ draft: true })
    await passAll(draftServer, way, draftCases)
  })
}

test('Every public OASIS test case passes strictly on PostgreSQL', { skip }, async (context) => {
  const postgres = await startTestPostgres()
  if ('missing' in postgres) {
    context.skip(postgres.missing)
    return
  }
  try {
    const db = await openPostgres({ url: await postgres.database() })
    {
      await using where = await startOwnServer({ db })
      await passAll(where, 'socket', cases)
    }
    await db.close()
  } finally {
    await postgres.stop()
  }
})
