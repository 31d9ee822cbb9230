import { type Operation, parseStrictObject, post } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { headerText, readJws, readSigningKey, requireSignature } from '../protocol/jws.ts'
import { acmeProblem } from '../protocol/problem.ts'
import { type AcmeServices, define } from '../protocol/services.ts'
import { accountCaller, byAccount, payloadObject } from '../request/caller.ts'
import { commitOrConflict } from '../request/commit.ts'
import type { AcmeEnvironment } from '../request/environment.ts'
import { resourceErrors, resourceReply, resourceRow, signedByAcme } from '../request/row.ts'
import { type Account, findAccountByKey, updateAccount } from '../stored/account-store.ts'
import { accountObject } from './account.ts'

/** `POST …/key-change` (RFC 8555 §7.3.5): replaces the account key. The new key has signed the inner JWS. */
export function keyChangeOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.key_change',
    reach: ['change settings'],
    route: post('/acme/{authority}/key-change'),
    summary: 'Change the key of the account',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String() }),
    errors: { ...resourceErrors, 409: 'The key already has an account.' },
    authenticate: byAccount(environment),
    async act(_input, context) {
      const caller = accountCaller(context)
      const { account, urls, key, directory } = caller
      const { db } = context.services
      const inner = readJws(payloadObject(caller))
      if (Object.hasOwn(inner.header, 'nonce') || Object.hasOwn(inner.header, 'kid'))
        throw acmeProblem('malformed', "The inner JWS must have neither 'nonce' nor 'kid'.")
      if (headerText(inner, 'url') !== urls.to('key-change'))
        throw acmeProblem('malformed', "'url' of the inner JWS differs from that of the request.")
      const next = readSigningKey(inner.header.jwk)
      requireSignature(inner, next.key)
      const said = parseStrictObject(inner.payload)
      if (said?.account !== urls.account(account.id))
        throw acmeProblem('malformed', "'account' of the inner JWS is another account.")
      if (said.oldKey === undefined || readSigningKey(said.oldKey).thumbprint !== key.thumbprint)
        throw acmeProblem('malformed', "'oldKey' of the inner JWS is not the key of the account.")
      const keyConflict = (by: Account) =>
        acmeProblem('conflict', 'The key already has an account.', {
          headers: { Location: urls.account(by.id) },
        })
      const other = await findAccountByKey(db, directory.authorityId, next.thumbprint)
      if (other !== undefined) throw keyConflict(other)
      const to = { thumbprint: next.thumbprint, jwk: JSON.stringify(next.jwk) }
      context.audit({ details: { new_key: next.thumbprint } })
      try {
        await commitOrConflict(context.commit, [updateAccount(account, to)])
      } catch (error) {
        const winner =
          error instanceof UniqueViolation
            ? await findAccountByKey(db, directory.authorityId, next.thumbprint)
            : undefined
        throw winner === undefined ? error : keyConflict(winner)
      }
      return resourceReply(environment, urls, {
        location: urls.account(account.id),
        json: accountObject(account, urls),
      })
    },
  })
}
