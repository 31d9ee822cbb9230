import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressSet, clientAddress, normalAddress, parseCidr } from './client-address.ts'
import { bucketKey } from './token-buckets.ts'

const trusted = addressSet(['10.0.0.0/8', '2001:db8::/32'])

const locate = (peer: string, forwardedFor?: string, forwarded?: string, believed = false) => {
  const { address, isKnown } = clientAddress(peer, { forwardedFor, forwarded }, trusted, believed)
  return isKnown ? address : `${address}, not known`
}

test('forwarded addresses count only when the peer is trusted, from right to left', () => {
  assert.equal(locate('10.0.0.1'), '10.0.0.1')
  assert.equal(locate('10.0.0.1', '6.6.6.6, 1.2.3.4'), '1.2.3.4')
  assert.equal(locate('10.0.0.1', '6.6.6.6, 1.2.3.4, 10.1.1.1'), '1.2.3.4')
  assert.equal(locate('::ffff:10.0.0.1', '::ffff:1.2.3.4'), '1.2.3.4')
  assert.equal(locate('2001:db8::1', '[2a00::1]:443'), '2a00::1')
  assert.equal(locate('192.0.2.1', '1.2.3.4', undefined, true), '1.2.3.4')
})

test('the address of a proxy is not the known address of a client', () => {
  assert.equal(locate('192.0.2.1', '1.2.3.4'), '192.0.2.1, not known')
  assert.equal(locate('192.0.2.1', ''), '192.0.2.1, not known')
  assert.equal(locate('192.0.2.1', undefined, 'for=1.2.3.4'), '192.0.2.1, not known')
  assert.equal(locate('10.0.0.1', undefined, 'for=1.2.3.4'), '10.0.0.1, not known')
  assert.equal(locate('10.0.0.1', '1.2.3.4, unknown'), '10.0.0.1, not known')
  assert.equal(locate('10.0.0.1', '1.2.3.4', 'for=1.2.3.4'), '1.2.3.4')
  assert.equal(locate('10.0.0.1', '1.2.3.4', 'for=unknown'), '1.2.3.4, not known')
  assert.equal(locate('192.0.2.1', '1.2.3.4', 'For=Unknown', true), '1.2.3.4, not known')
})

test('a caller cannot move its own address by writing to the left', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6())), fc.ipV4(), (forged, own) => {
      fc.pre(!trusted.contains(own))
      assert.equal(locate('10.0.0.1', [...forged, own].join(',')), own)
    }),
  )
})

test('a block contains exactly the addresses that share its prefix', () => {
  const number = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (base, other, length) => {
      const size = 2 ** (32 - length)
      const same = Math.floor(number(base) / size) === Math.floor(number(other) / size)
      const block = addressSet([`${base}/${length}`])
      assert.equal(block.contains(other), same)
      assert.equal(block.contains(`::ffff:${other}`), same)
    }),
  )
})

test('what is no block is no block', () => {
  for (const text of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '::/129',
    '10.0.0/8',
    'a/8',
    '1.2.3.4/-1',
  ]) {
    assert.equal(parseCidr(text), undefined, text)
  }
  assert.throws(() => addressSet(['nonsense']), /nonsense/)
})

test('one address has one spelling, and an IPv6 /64 has one bucket', () => {
  assert.equal(normalAddress('2001:DB8:0:0::1'), '2001:db8::1')
  assert.equal(bucketKey('2001:db8:1:2:3:4:5:6'), bucketKey('2001:db8:1:2::9'))
  assert.notEqual(bucketKey('2001:db8:1:2::'), bucketKey('2001:db8:1:3::'))
  assert.equal(bucketKey('::1'), '0:0:0:0::/64')
  assert.equal(bucketKey('::ffff:1.2.3.4'), '1.2.3.4')
})
