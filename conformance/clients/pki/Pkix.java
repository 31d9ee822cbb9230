import java.io.FileInputStream;
import java.security.cert.*;
import java.util.*;

/** What the JDK says about a certificate: java Pkix.java ROOT ISSUING CERTIFICATE ocsp|crl */
public class Pkix {
    public static void main(String[] args) throws Exception {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        X509Certificate[] read = new X509Certificate[3];
        for (int index = 0; index < 3; index++)
            try (FileInputStream file = new FileInputStream(args[index])) {
                read[index] = (X509Certificate) factory.generateCertificate(file);
            }
        CertPathValidator validator = CertPathValidator.getInstance("PKIX");
        PKIXRevocationChecker checker = (PKIXRevocationChecker) validator.getRevocationChecker();
        Set<PKIXRevocationChecker.Option> options = EnumSet.of(PKIXRevocationChecker.Option.NO_FALLBACK);
        if (args[3].equals("crl")) options.add(PKIXRevocationChecker.Option.PREFER_CRLS);
        checker.setOptions(options);
        PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(read[0], null)));
        parameters.addCertPathChecker(checker);
        try {
            validator.validate(factory.generateCertPath(List.of(read[2], read[1])), parameters);
            System.out.println("good");
        } catch (CertPathValidatorException error) {
            System.out.println(error.getReason() + ": " + error.getMessage());
        }
    }
}
