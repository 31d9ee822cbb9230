import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeEncapsulation,
  deriveTagAndSecret,
  hashFullTranscript,
  hashTranscript,
  xorMask,
} from './encapsulation.ts'
import { decodeUserKey } from './key-bytes.ts'
import { secretMode } from './keys.ts'
import { importDecapsulationKey, kemOpen, plus, sha3_256, times, toScalar } from './primitives.ts'
import { fromHex, toHex } from './testing/keys.ts'
import { type EncapsulationVector, skipVectors as skip, type UserVector, vectors } from './testing/vectors.ts'

interface Values {
  readonly name: string
  readonly opened_with: string
  readonly right: string
  readonly S: string
  readonly r: string | null
  readonly A: string | null
  readonly K1: string | null
  readonly K2: string | null
  readonly T: string
  readonly U: string
  readonly secret: string
}

interface Made {
  readonly usks: readonly UserVector[]
  readonly encapsulations: readonly EncapsulationVector[]
  readonly rekey?: {
    usks_keep: readonly UserVector[]
    usks_last: readonly UserVector[]
    encapsulations: readonly EncapsulationVector[]
  }
}

test('each intermediate value of an encapsulation equals that of another implementation', { skip }, () => {
  const files = ['lifecycle.json', 'modes.json'].map((name) => vectors<Made>(name))
  const users = files.flatMap(({ usks, rekey }) => [
    ...usks,
    ...(rekey?.usks_keep ?? []),
    ...(rekey?.usks_last ?? []),
  ])
  const made = files.flatMap(({ encapsulations, rekey }) => [
    ...encapsulations,
    ...(rekey?.encapsulations ?? []),
  ])
  const { values } = vectors<{ values: readonly Values[] }>('intermediates.json')
  assert.equal(values.length, 17)
  for (const value of values) {
    const hex = made.find(({ name, encapsulation }) => name === value.name && encapsulation)
      ?.encapsulation as string
    const { mode, points, targets } = decodeEncapsulation(fromHex(hex))
    const key = decodeUserKey(fromHex(users.find(({ name }) => name === value.opened_with)?.usk as string))
    const products = points.map((point, index) => times(key.id[index] as Uint8Array, point) as Uint8Array)
    const shared = products.length === 0 ? undefined : products.reduce(plus)
    const transcript = hashTranscript(
      points,
      targets.flatMap(({ kemCiphertext }) => kemCiphertext ?? []),
    )
    const full = hashFullTranscript(
      transcript,
      targets.map(({ maskedSeed }) => maskedSeed),
    )
    assert.equal(toHex(transcript), value.T)
    assert.equal(toHex(full), value.U)
    if (shared !== undefined) assert.equal(toHex(shared), value.A)
    if (value.r !== null) assert.equal(toHex(toScalar(fromHex(value.S))), value.r)
    assert.equal(toHex(deriveTagAndSecret(Buffer.concat([fromHex(value.S), full])).secret), value.secret)
    const found = (key.rights.get(value.right) ?? [])
      .filter((secret) => secretMode(secret) === mode)
      .flatMap(({ scalar, decapsulationKey }) =>
        targets.map(({ kemCiphertext, maskedSeed }) => {
          const first = scalar && times(scalar, shared as Uint8Array)
          const imported = decapsulationKey && importDecapsulationKey(decapsulationKey)
          const second = imported && kemOpen(imported, kemCiphertext as Uint8Array)
          const mask = sha3_256(...(first ? [first] : []), ...(second ? [second] : []), transcript)
          return [
            toHex(xorMask(maskedSeed, mask)),
            first ? toHex(first) : null,
            second ? toHex(second) : null,
          ]
        }),
      )
    assert.deepEqual(
      found.find(([seed]) => seed === value.S),
      [value.S, value.K1 ?? null, value.K2 ?? null],
      value.name,
    )
  }
})
