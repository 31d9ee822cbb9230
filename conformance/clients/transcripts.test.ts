import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { attributeByLegacyName, attributeIn, kmipVersions, Tag, type TtlvNode } from '@warder/kmip-codec'
import { tagIntroduced } from '@warder/kmip-codec/testing'
import { openConnection } from 'warder/testing'
import { readCases } from '../cases/test-case.ts'
import { remarkOn } from '../report/table.ts'
import { runCase } from '../run/run-case.ts'
import { startOwnServer, type TestServer } from '../server/own-server.ts'

let server: TestServer
before(async () => {
  server = await startOwnServer()
})
after(() => server[Symbol.asyncDispose]())

/** Requests of products with KMIP built in, and the answers they need; each is a test case in the OASIS form. */
for (const testCase of readCases(fileURLToPath(new URL('./transcripts', import.meta.url)))) {
  for (const way of ['socket', 'https-xml'] as const) {
    test(`${testCase.name} gets what it needs over ${way}, and nothing that its version does not know`, async () => {
      const connection = openConnection(await server.as(`${testCase.name} ${way}`), way)
      const newer: string[] = []
      const result = await runCase(testCase, async (message) => {
        const answer = await connection.exchange(message)
        newer.push(...newerThan(testCase.version, answer))
        return answer
      })
      connection.close()
      assert.equal(remarkOn(result), undefined)
      assert.equal(result.outcome, 'passed')
      assert.deepEqual(newer, [])
    })
  }
}

/** Tags and attributes in a message that came after a version. */
function newerThan(version: string, node: TtlvNode): readonly string[] {
  const spoken = kmipVersions.find((known) => known === version)
  assert.ok(spoken)
  const found: string[] = []
  const walk = (inner: TtlvNode): void => {
    if (tagIntroduced(inner.tag) > spoken) found.push(`tag ${inner.tag.toString(16)}`)
    if (inner.tag === Tag.AttributeName && inner.type === 'TextString') {
      const row = attributeByLegacyName(inner.value)
      if (row !== undefined && !attributeIn(spoken, row)) found.push(inner.value)
    }
    if (inner.type === 'Structure') for (const member of inner.value) walk(member)
  }
  walk(node)
  return found
}
