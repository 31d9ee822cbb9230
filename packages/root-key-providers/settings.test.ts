import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rootKeySettings } from './settings.ts'

/** Values that a setting accepts, and those that it refuses. */
const examples: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  'root_key_aws.key': [
    [
      '11111111-2222-4333-8444-555555555555',
      'mrk-0123456789abcdef0123456789abcdef',
      'arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-4333-8444-555555555555',
      'arn:aws-us-gov:kms:us-gov-west-1:111122223333:alias/team/warder',
      'alias/warder',
    ],
    ['', 'alias/', 'a key', 'arn:aws:kms:eu-central-1:1:key/x', 'arn:aws:s3:eu-central-1:111122223333:key/x'],
  ],
  'root_key_aws.region': [['eu-central-1'], ['', 'EU', 'a/b', 'eu-central-1.example.com']],
  'root_key_aws.endpoint': [
    ['https://kms-fips.us-east-1.amazonaws.com', 'https://10.0.0.1:8443/'],
    ['http://kms.example', 'https://kms.example/path', 'https://a:b@kms.example', 'kms.example'],
  ],
  'root_key_google.key': [
    ['projects/my-project/locations/europe-west3/keyRings/warder/cryptoKeys/root_1'],
    [
      '',
      'root',
      'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
      'projects/p/locations/l/keyRings/r/cryptoKeys/k?x',
      'projects/../locations/l/keyRings/r/cryptoKeys/k',
    ],
  ],
  'root_key_google.endpoint': [['https://cloudkms.googleapis.com'], ['http://cloudkms.googleapis.com', '']],
  'root_key_azure.key': [
    [
      'https://my-vault.vault.azure.net/keys/warder',
      'https://hsm.managedhsm.azure.net/keys/warder/0123456789abcdef0123456789abcdef',
    ],
    [
      '',
      'warder',
      'http://my-vault.vault.azure.net/keys/warder',
      'https://my-vault.vault.azure.net/keys/warder/',
      'https://my-vault.vault.azure.net/secrets/warder',
      'https://a@my-vault.vault.azure.net/keys/warder',
      'https://my-vault.vault.azure.net/keys/warder/1',
    ],
  ],
  'root_key_azure.tenant_id': [
    ['11111111-2222-4333-8444-555555555555', 'contoso.com'],
    ['', '../x', 'a/b'],
  ],
  'root_key_azure.client_id': [['11111111-2222-4333-8444-555555555555'], ['', 'a b']],
  'root_key_azure.authority': [['https://login.microsoftonline.us/'], ['http://login.example', '']],
  'root_key_aws.sts_endpoint': [['https://sts.eu-central-1.amazonaws.com'], ['http://sts.example', '']],
}

test('settings of clouds accept what the clouds call it, and refuse other values with a sentence', () => {
  for (const [name, [good, bad]] of Object.entries(examples)) {
    const { check } = rootKeySettings[name as 'root_key_aws.key']
    assert.ok(check !== undefined, name)
    for (const value of good) assert.equal(check(value), undefined, `${name} ${value}`)
    for (const value of bad) assert.match(check(value) ?? '', /^must be /, `${name} ${value}`)
  }
})
