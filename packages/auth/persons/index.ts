export {
  ensureSubjectId,
  issuerPersonsEnd,
  personEnd,
  personKnownThrough,
  providerPersonsEnd,
  providerPersonsMove,
  realmPersonsEnd,
} from './person-store.ts'
