import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CryptoFailure, type CryptoFailureCode } from '@warder/crypto'
import { toPublicFailure, withKmipReasons } from './failure.ts'

/** As clients of deployed servers and the OASIS test cases know them. */
const answers: Readonly<Record<CryptoFailureCode, readonly [reason: string, message: string, kind: string]>> =
  {
    unsupported: ['UnsupportedCryptographicParameters', 'Why.', 'unsupported_algorithm'],
    bad_parameters: ['BadCryptographicParameters', 'Why.', 'unsupported_algorithm'],
    tag_length: ['GeneralFailure', 'L_KMIPCRYPTO_random:invalid-tag-length', 'crypto_failure'],
    invalid_input: ['InvalidField', 'Why.', 'bad_request'],
    iv_length: ['InvalidField', 'invalid-iv-length', 'bad_request'],
    missing_iv: ['InvalidMessage', 'missing-iv', 'bad_request'],
    too_much_work: ['ServerLimitExceeded', 'Why.', 'bad_request'],
    wrong_key: ['CryptographicFailure', 'Why.', 'crypto_failure'],
    failed: ['CryptographicFailure', 'CRYPTO', 'crypto_failure'],
    decryption_failed: ['CryptographicFailure', 'CRYPTO', 'crypto_failure'],
  }

test('every refusal of a cryptographic operation has a reason and a message of KMIP', () => {
  for (const [code, [reason, message, kind]] of Object.entries(answers)) {
    const thrown = new CryptoFailure(code as CryptoFailureCode, 'Why.')
    const told = toPublicFailure(thrown)
    assert.deepEqual([told.reason, told.message, told.failure.kind], [reason, message, kind], code)
    assert.equal(told.failure.members?.result_reason, reason)
    const refuse = () => {
      throw thrown
    }
    assert.throws(() => withKmipReasons(refuse), { name: 'Refusal', code: reason, message })
  }
})
