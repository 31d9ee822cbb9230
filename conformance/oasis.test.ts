import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ways } from 'warder/kmip'
import { casesIn, vectorsFolder, vectorsVariable } from './cases/vectors.ts'
import { remarkOn } from './report/table.ts'
import { runCases } from './run/run-cases.ts'
import { startOwnServer, type TestServer } from './server/own-server.ts'

const cases = casesIn(vectorsFolder(process.env))
const skip = cases.length === 0 ? `the public KMIP test cases are not here (${vectorsVariable})` : false

let server: TestServer
before(async () => {
  if (skip === false) server = await startOwnServer()
})
after(async () => {
  if (skip === false) await server[Symbol.asyncDispose]()
})

for (const way of ways) {
  test(`Every public OASIS test case passes strictly over ${way}`, { skip }, async () => {
    const results = await runCases(cases, server, way)
    const failed = results.filter(({ outcome }) => outcome !== 'passed')
    assert.deepEqual(
      failed.map((result) => `${result.testCase.name}: ${remarkOn(result)}`),
      [],
    )
    assert.equal(results.length, cases.length)
  })
}
