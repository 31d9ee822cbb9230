import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DerElement, der, derElementAt, derTag } from './der.ts'
import { derGeneralizedTime, derTime, readTime } from './time.ts'

const what = 'The value'
const only = (bytes: Uint8Array): DerElement => derElementAt(bytes, 0, what)

test('property: an encoded time is decoded again, in the form of its year', () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_167_219_200, max: 253_402_300_799 }), (seconds) => {
      const element = only(derTime(seconds * 1000))
      const year = new Date(seconds * 1000).getUTCFullYear()
      assert.equal(element.tag, year >= 1950 && year < 2050 ? derTag.utcTime : derTag.generalizedTime)
      assert.equal(readTime(element, what), seconds * 1000)
      assert.equal(readTime(only(derGeneralizedTime(seconds * 1000)), what), seconds * 1000)
    }),
  )
})

test('RFC 5280 §4.1.2.5: other forms of a time and days that do not exist are refused', () => {
  for (const [tag, text] of [
    [derTag.utcTime, '2601010000Z'],
    [derTag.utcTime, '260101000000+0100'],
    [derTag.utcTime, '260230000000Z'],
    [derTag.utcTime, '260101240000Z'],
    [derTag.utcTime, '20260101000000Z'],
    [derTag.generalizedTime, '20260101000000.5Z'],
    [derTag.generalizedTime, '20260101000000'],
    [derTag.generalizedTime, '20261301000000Z'],
    [derTag.ia5String, '20260101000000Z'],
  ] as const)
    assert.throws(() => readTime(only(der(tag, Buffer.from(text))), what), { code: 'malformed' }, text)
  for (const at of [Number.NaN, Number.POSITIVE_INFINITY, 253_402_300_800_000])
    assert.throws(() => derTime(at), { code: 'invalid_value' })
})
