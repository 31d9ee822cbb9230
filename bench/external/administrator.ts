import type { HttpsClient } from '@warder/command-line/https-client'
import type { Installation } from 'warder/testing'

export type Json = Readonly<Record<string, unknown>>

/** Steps by which the administrator of a started Warder prepares a store. */
export interface Administrator {
  /**
   * @param headers instead of those of the administrator
   * @throws Error unless the answer is 200
   */
  ask(
    path: string,
    json: Json,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>>
  /** A new key, of which `user` has the rights. @returns its id */
  grantedKey(json: Json, user: string, rights: readonly string[]): Promise<string>
}

export async function createAdministrator(warder: Installation, kms: HttpsClient): Promise<Administrator> {
  const headers = { Authorization: `Bearer ${await warder.adminToken()}` }
  const ask: Administrator['ask'] = async (path, json, others = headers) => {
    const answer = await kms.ask(path, { json, headers: others })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    return answer.json as Readonly<Record<string, string>>
  }
  return {
    ask,
    async grantedKey(json, user_id, operation_types) {
      const { kid = '' } = await ask('/v1/crypto/keys', json)
      await ask('/access/grant', { unique_identifier: kid, user_id, operation_types })
      return kid
    },
  }
}
