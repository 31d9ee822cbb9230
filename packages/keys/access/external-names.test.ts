import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEveryPrincipal, normalizeName } from './external-names.ts'

test('a name of a cloud has one form, without the parts that the cloud ignores', () => {
  const same: readonly (readonly [written: string, form: string])[] = [
    ['google:Alice@Example.COM', 'google:alice@example.com'],
    ['GOOGLE:alice@example.com', 'google:alice@example.com'],
    ['google:ann@münchen.example', 'google:ann@xn--mnchen-3ya.example'],
    ['google:https://KACLS.example.com/v1/', 'google:https://kacls.example.com/v1'],
    ['microsoft:Ann@Contoso.com', 'microsoft:ann@contoso.com'],
    [
      'microsoft:2EC40E65-ba09-4853-bcde-bcb60029e596/690222BE-ff1a-4d56-abd1-7e4f7d38e474',
      'microsoft:2ec40e65-ba09-4853-bcde-bcb60029e596/690222be-ff1a-4d56-abd1-7e4f7d38e474',
    ],
    ['microsoft:Role:Finance', 'microsoft:role:Finance'],
    [
      'microsoft:role:A4FF8A4E-0000-4000-8000-000000000001',
      'microsoft:role:a4ff8a4e-0000-4000-8000-000000000001',
    ],
    ['aws:arn:aws:iam::1:role/Backup', 'aws:arn:aws:iam::1:role/backup'],
    ['aws:/Payments:arn:aws:iam::1:role/Backup', 'aws:/Payments:arn:aws:iam::1:role/backup'],
    ['azure:Contoso.ManagedHSMClient.azure.net', 'azure:contoso.managedhsmclient.azure.net'],
    ['azure:Pool  One', 'azure:pool one'],
  ]
  for (const [written, form] of same) {
    assert.equal(normalizeName(written), form)
    assert.equal(normalizeName(form), form, 'the form is its own')
  }
})

test('names of users stay unchanged, and different names stay different', () => {
  for (const name of ['Alice', 'office/Alice', 'app:Web', '*', 'Alice@Example.com'])
    assert.equal(normalizeName(name), name)
  assert.notEqual(normalizeName('google:\u212Aate@example.com'), 'google:kate@example.com')
  assert.notEqual(normalizeName('microsoft:role:finance'), normalizeName('microsoft:role:Finance'))
  assert.notEqual(normalizeName('aws:/a:x'), normalizeName('aws:/A:x'))
})

test('a pattern for every principal of a cloud is recognised', () => {
  for (const name of ['aws:*', 'google:*', 'aws:/payments:*', 'aws:/:*'])
    assert.ok(isEveryPrincipal(name), name)
  for (const name of ['*', 'aws:arn:aws:iam::1:role/*', 'microsoft:role:*', 'alice'])
    assert.ok(!isEveryPrincipal(name), name)
})
