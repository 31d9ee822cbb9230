import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { encodeNode, Tag, type TtlvNode } from '@warder/kmip-codec'
import { openConnection } from 'warder/testing'
import { readCases } from './cases/test-case.ts'
import { listCases } from './cases/vectors.ts'
import { damage, numbersFrom } from './compare/damage.ts'
import { runCase } from './run/run-case.ts'
import { startOwnServer } from './server/own-server.ts'

const transcripts = readCases(fileURLToPath(new URL('./clients/transcripts', import.meta.url)))
/** A part of the public cases, where they are: a life cycle, attributes, ciphers, signatures. */
const some = listCases(process.env, { draft: false }).filter(({ name }) =>
  /^(SKLC|AX|BL|TL|OMOS)-M-|^CS-AC-M-[1-7]-|^CS-BC-M-\d-/.test(name),
)
const variants = 3

/** Runs cases whose every request is sent damaged a few times before it is sent as it is. */
test('Requests that are wrong inside are refused for a reason, at every step of a case', async () => {
  const next = numbersFrom(2026)
  const others: TtlvNode[] = []
  await using server = await startOwnServer()
  let sent = 0
  let refused = 0
  for (const testCase of [...transcripts, ...some]) {
    const connection = openConnection(await server.as(testCase.name), 'socket')
    await runCase(testCase, async (message) => {
      for (let count = 0; count < variants; count++) {
        const request = damage(message, others, next)
        const answer = await connection.exchange(request)
        sent += 1
        assert.equal(answer.tag, Tag.ResponseMessage)
        const text = Buffer.from(encodeNode(answer, 'ttlv')).toString('latin1')
        assert.doesNotMatch(text, /internal error/i, JSON.stringify(request, plain))
        if (/OperationFailed/.test(encodeNode(answer, 'json').toString('utf8'))) refused += 1
      }
      collect(message, others)
      return connection.exchange(message)
    })
    connection.close()
  }
  assert.ok(refused > sent / 2, `${refused} of ${sent} refused`)
})

function collect(node: TtlvNode, into: TtlvNode[]): void {
  if (into.length < 2000) into.push(node)
  if (node.type === 'Structure') for (const member of node.value) collect(member, into)
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex').slice(0, 60) : value
}
