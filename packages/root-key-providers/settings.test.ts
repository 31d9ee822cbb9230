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
