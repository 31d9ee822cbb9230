export {
  issuerPersonsEnd,
  personEnd,
  personKnownThrough,
  providerPersonsEnd,
  providerPersonsMove,
  realmPersonsEnd,
  subjectIdOf,
} from './person-store.ts'
