import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldEmail } from './external-names.ts'

test('addresses are compared without regard to the case of A to Z', () => {
  assert.equal(foldEmail('Alice.B@Example.COM'), 'alice.b@example.com')
  assert.equal(foldEmail('ÄRGER@example.com'), 'Ärger@example.com')
})

test('letters that change under lower-casing stay unchanged', () => {
  assert.notEqual(foldEmail('\u212Aate@example.com'), 'kate@example.com')
  assert.notEqual(foldEmail('\u017Fam@example.com'), 'sam@example.com')
  assert.notEqual(foldEmail('alice@example\u3002com'), 'alice@example.com')
  assert.notEqual(foldEmail('e\u0301va@example.com'), foldEmail('\u00e9va@example.com'))
})

test('addresses that do not name one user are refused', () => {
  const wrong = [
    undefined,
    7,
    ['a@b'],
    '',
    'alice',
    '@example.com',
    'alice@',
    'a@b@c',
    'a b@c',
    'role:a@c',
    'a\u0000@c',
    'a\u200b@c',
    '\ud800@c',
    `${'a'.repeat(400)}@c`,
    '*',
    '*@*',
    'a,b@example.com',
    'a<b@c.example>@c.example',
    '"a b"@example.com',
    'a..b@example.com',
    '.a@example.com',
    'a@example..com',
    'a@example.com.',
    'a@-example.com',
    'a@[192.0.2.7]',
    'a@exa_mple.com',
    'e\u0301va@example.com',
    '\u212Aate@example.com',
    'a@ban\u212A.example',
  ]
  for (const claim of wrong) assert.equal(foldEmail(claim), undefined, JSON.stringify(claim))
})

test('an internationalized domain has its DNS form', () => {
  assert.equal(foldEmail('ann@m\u00fcnchen.example'), 'ann@xn--mnchen-3ya.example')
  assert.equal(foldEmail('ann@XN--mnchen-3ya.example'), 'ann@xn--mnchen-3ya.example')
})
