import { firstProof } from '../../login/method.ts'
import { credentialChanged, LoginRefused, methodNotEnabled, unknownRealm } from '../../login/refusal.ts'
import { realmUnchanged } from '../../realms/realm-store.ts'
import { isNewUsername } from '../../texts/username.ts'
import type { JwtServices } from './services.ts'
import { jwtSettings } from './settings.ts'
import { findSubject, subjectClaim } from './subject-store.ts'

const anotherProvider = () => new LoginRefused('subject_of_another_provider')

/**
 * Proves a login by the token of an `Authorization: Bearer` header. The name must belong to the provider of the token
 * in the realm, or be free.
 */
export const tokenProof = firstProof<JwtServices, 'bearer'>({
  takes: 'bearer',
  async prove(context, { realm, credential }) {
    const { db, providers, now } = context.services
    if (realm === undefined) throw unknownRealm()
    const settings = jwtSettings.of(realm)
    if (settings === undefined) throw methodNotEnabled()
    const found = await providers.verifySubject(settings, credential.token)
    if (found === undefined || !isNewUsername(found.subject)) throw new LoginRefused('invalid_token')
    const { subject: username, issuer } = found
    context.audit({ details: { issuer } })
    const holder = await findSubject(db, realm.id, username)
    if (holder !== undefined && holder.issuer !== issuer) {
      context.audit({ object: username })
      throw anotherProvider()
    }
    const claim = subjectClaim({ realm: realm.id, subject: username, issuer, createdAt: now() })
    return {
      realm,
      subject: { username, scheme: 'jwt', certificateSha256: undefined, roles: [], extraClaims: undefined },
      proofs: [
        { holds: realmUnchanged(realm), lost: credentialChanged },
        { holds: claim, lost: anotherProvider },
      ],
    }
  },
})
