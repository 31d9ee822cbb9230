import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readResponse, writeRequest } from '../messages/client.ts'
import { decodeNode, decodeRequest, encodeNode, encodeResponse, toErrorResponse } from '../messages/codec.ts'
import type { Encoding } from '../messages/types.ts'
import { isDraftType } from '../tables/draft.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import type { TtlvNode } from '../ttlv/node.ts'
import { plain, xmlTree } from './arbitrary.ts'
import { createRandom, mutate } from './mutation.ts'
import { readDraftVectors, readVectors } from './vectors.ts'

const runs = Number(process.env.WARDER_FUZZ_RUNS ?? 4000)
const seed = Number(process.env.WARDER_FUZZ_SEED ?? 20260101)

/** Messages of the test cases if they are available, and generated trees. */
const corpus: readonly TtlvNode[] = [
  ...readVectors()
    .filter((_file, index) => index % 10 === 0)
    .flatMap(({ messages }) => messages),
  ...readDraftVectors()
    .filter((_file, index) => index % 10 === 0)
    .flatMap(({ messages }) => messages),
  ...fc.sample(xmlTree, { numRuns: 200, seed }),
]

/** The outcome of reading, which is a value or a KmipDecodeError and nothing else. */
function readOr<T>(read: () => T, step: string): T | undefined {
  try {
    return read()
  } catch (error) {
    assert.ok(error instanceof KmipDecodeError, `${step}: ${error instanceof Error ? error.stack : error}`)
    assert.ok(error.message.length < 200)
    encodeResponse(toErrorResponse(error, 0), 'ttlv')
    return undefined
  }
}

/** Fails for item types of 3.0. */
function encodeAsOld(payload: TtlvNode): void {
  if (payload.type === 'Structure') for (const member of payload.value) encodeAsOld(member)
  else assert.ok(!isDraftType(payload.type), payload.type)
}

for (const encoding of ['ttlv', 'json', 'xml'] as const satisfies readonly Encoding[])
  test(`Damaged ${encoding} messages are read or refused without any other error`, () => {
    const next = createRandom(seed)
    let accepted = 0
    for (let run = 0; run < runs; run++) {
      const node = corpus[next(corpus.length)]
      assert.ok(node)
      const bytes = mutate(encodeNode(node, encoding), next)
      const step = `${encoding} seed ${seed} run ${run}`
      const tree = readOr(() => decodeNode(bytes, encoding), step)
      const request = readOr(() => decodeRequest(bytes, encoding, { bareVersion: '1.4' }), step)
      if (tree !== undefined) {
        accepted += 1
        readOr(() => readResponse(tree), step)
        const again = encodeNode(tree, 'ttlv')
        assert.deepEqual(plain(decodeNode(again, 'ttlv')), plain(tree), step)
      }
      if (request !== undefined && !request.bare) readOr(() => writeRequest(request), step)
      const draft = readOr(() => decodeRequest(bytes, encoding, { bareVersion: '3.0', draft: true }), step)
      if (draft !== undefined && !draft.bare) readOr(() => writeRequest(draft), step)
      // What only 3.0 has reaches no engine.
      for (const { payload } of draft?.items ?? []) encodeAsOld(payload)
    }
    assert.ok(accepted > 0 && accepted < runs, `${accepted} accepted of ${runs}`)
  })

test('Random bytes are refused', () => {
  const next = createRandom(seed)
  for (let run = 0; run < 2000; run++) {
    const bytes = Uint8Array.from({ length: next(64) }, () => next(256))
    if (next(2) === 0) bytes.set([0x42, 0x00, 0x78, 0x01].slice(0, bytes.length))
    for (const encoding of ['ttlv', 'json', 'xml'] as const)
      readOr(() => decodeRequest(bytes, encoding), `run ${run}`)
  }
})
